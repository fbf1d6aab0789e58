package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/embedded/containerinit"
	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// maxExecOutput is the maximum output per stream of ExecSync: containerd's limit.
const maxExecOutput = 16 << 20

// outputDrainTimeout is how long output is read after the command has exited, because its
// children may keep the streams open.
const outputDrainTimeout = 500 * time.Millisecond

// startExec starts a command in a container.
func (r *Runtime) startExec(id string, args []string, terminal bool, files [3]*os.File) (*process, error) {
	c := r.findContainer(id)
	if c == nil {
		return nil, notFound("container", id)
	}
	first := c.runningProcess()
	if first == nil {
		return nil, status.Errorf(codes.FailedPrecondition, "container %s is %v: exec requires a running container", id, c.state())
	}
	text, err := os.ReadFile(filepath.Join(c.dir, shim.InitFile))
	if err != nil {
		return nil, err
	}
	var own containerinit.Spec
	if err := json.Unmarshal(text, &own); err != nil {
		return nil, err
	}
	spec := &containerinit.Spec{Joins: own.Joins, Args: slices.Clone(args), Env: own.Env, Cwd: own.Cwd, Terminal: terminal, User: own.User,
		Capabilities: own.Capabilities, Filter: own.Filter, OOMScoreAdj: own.OOMScoreAdj, Limits: own.Limits}
	if terminal {
		spec.Env = setEnv(spec.Env, "TERM", "xterm")
	}
	var p *process
	err = first.withFD(func(fd int) (err error) {
		p, err = r.executables.spawn(containerinit.Exec, spec, spawnOptions{process: fd, pidNamespace: fd, files: files})
		return err
	})
	if errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrProcessDone) {
		return nil, status.Errorf(codes.FailedPrecondition, "container %s has just exited", id)
	}
	if err != nil {
		return nil, fmt.Errorf("exec in container %s: %w", c.record.Config.GetMetadata().GetName(), err)
	}
	return p, nil
}

// exitCode returns the exit code of an exited command.
func (p *process) exitCode() int32 {
	if p.state.Signaled() {
		return 128 + int32(p.state.Signal())
	}
	return int32(p.state.ExitStatus())
}

// killGroup kills a command and its process group.
func (p *process) killGroup() {
	if !p.hasExited() {
		_ = unix.Kill(-p.pid, syscall.SIGKILL) // a session leader; its group ID is not reused before it is reaped
	}
	p.kill(syscall.SIGKILL)
}

// ExecSync runs a command in the container. After timeout the command is killed and the error has
// code DeadlineExceeded; 0 means no timeout.
func (r *Runtime) ExecSync(ctx context.Context, id string, command []string, timeout time.Duration) (*cri.ExecSyncResponse, error) {
	var out, errs limitedBuffer
	code, err := r.execPiped(ctx, id, command, timeout, nil, &out, &errs)
	if err != nil {
		return nil, err
	}
	return &cri.ExecSyncResponse{Stdout: out.Bytes(), Stderr: errs.Bytes(), ExitCode: code}, nil
}

// limitedBuffer keeps the first maxExecOutput bytes.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), maxExecOutput-b.Len())])
	return len(p), nil
}

// stdioPipes are the standard streams of a command.
type stdioPipes struct {
	child     [3]*os.File // the command's ends
	parent    []*os.File
	copyFuncs []func()
	copies    sync.WaitGroup // of the output
}

// open connects stream i: 0 reads from in, the others write to out.
func (p *stdioPipes) open(i int, in io.Reader, out io.Writer) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	if i == 0 {
		p.child[i], p.parent = read, append(p.parent, write)
		p.copyFuncs = append(p.copyFuncs, func() { go func() { _, _ = io.Copy(write, in); _ = write.Close() }() })
		return nil
	}
	p.child[i], p.parent = write, append(p.parent, read)
	p.copyFuncs = append(p.copyFuncs, func() { p.copies.Go(func() { _, _ = io.Copy(out, read) }) })
	return nil
}

// closeChildEnds closes the command's ends after the fork.
func (p *stdioPipes) closeChildEnds() {
	for i, f := range p.child {
		if f != nil {
			_ = f.Close()
			p.child[i] = nil
		}
	}
}

func (p *stdioPipes) close() {
	p.closeChildEnds()
	for _, f := range p.parent {
		_ = f.Close()
	}
}

// execPiped runs a command with pipes for its streams. Nil streams are not connected.
func (r *Runtime) execPiped(ctx context.Context, id string, command []string, timeout time.Duration, in io.Reader, out, errOut io.Writer) (int32, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var streams stdioPipes
	defer streams.close()
	for i, wanted := range []bool{in != nil, out != nil, errOut != nil} {
		if !wanted {
			continue
		}
		if err := streams.open(i, in, []io.Writer{nil, out, errOut}[i]); err != nil {
			return 0, err
		}
	}
	p, err := r.startExec(id, command, false, streams.child)
	if err != nil {
		return 0, err
	}
	defer p.close()
	streams.closeChildEnds()
	for _, start := range streams.copyFuncs {
		start()
	}
	err = p.waitOrKill(ctx)
	for _, f := range streams.parent { // children of the command may keep the other ends open
		_ = f.SetReadDeadline(time.Now().Add(outputDrainTimeout))
	}
	streams.copies.Wait()
	if err != nil {
		return 0, status.Errorf(codes.DeadlineExceeded, "command %q in container %s timed out", command, id)
	}
	return p.exitCode(), nil
}

// waitOrKill waits until a command exits and kills it when ctx ends.
func (p *process) waitOrKill(ctx context.Context) error {
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		p.killGroup()
		<-p.exited
		return ctx.Err()
	}
}
