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

	"github.com/berthproject/berth/agent/runtime/embedded/inside"
	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// maxOutput bounds what ExecSync answers with of each stream: containerd's limit.
const maxOutput = 16 << 20

// outputPatience is how long the streams of a command that has ended are read on: what it has started may hold them.
const outputPatience = 500 * time.Millisecond

// command starts a command in a container.
func (r *Runtime) command(id string, args []string, terminal bool, files [3]*os.File) (*process, error) {
	c := r.container(id)
	if c == nil {
		return nil, notFound("container", id)
	}
	first := c.running()
	if first == nil {
		return nil, status.Errorf(codes.FailedPrecondition, "container %s is %v: commands run only in a running one", id, c.state())
	}
	text, err := os.ReadFile(filepath.Join(c.dir, shim.InitFile))
	if err != nil {
		return nil, err
	}
	var own inside.Spec
	if err := json.Unmarshal(text, &own); err != nil {
		return nil, err
	}
	spec := &inside.Spec{Joins: own.Joins, Args: slices.Clone(args), Env: own.Env, Cwd: own.Cwd, Terminal: terminal, User: own.User,
		Capabilities: own.Capabilities, Filter: own.Filter, OOMScoreAdj: own.OOMScoreAdj, Limits: own.Limits}
	if terminal {
		spec.Env = setEnv(spec.Env, "TERM", "xterm")
	}
	var p *process
	err = first.control(func(fd int) (err error) {
		p, err = r.self.spawn(inside.Exec, spec, spawn{process: fd, in: fd, files: files})
		return err
	})
	if errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrProcessDone) {
		return nil, status.Errorf(codes.FailedPrecondition, "container %s has just ended", id)
	}
	if err != nil {
		return nil, fmt.Errorf("exec in container %s: %w", c.record.Config.GetMetadata().GetName(), err)
	}
	return p, nil
}

// code is the exit code of a command that has ended.
func (p *process) code() int32 {
	if p.state.Signaled() {
		return 128 + int32(p.state.Signal())
	}
	return int32(p.state.ExitStatus())
}

// killGroup kills a command and what it has started.
func (p *process) killGroup() {
	if !p.ended() {
		_ = unix.Kill(-p.pid, syscall.SIGKILL) // it leads a session: the group is its own, and not another's before it is waited for
	}
	p.kill(syscall.SIGKILL)
}

// ExecSync runs a command in the container; after timeout (0 means none) it is killed and the error has
// code DeadlineExceeded.
func (r *Runtime) ExecSync(ctx context.Context, id string, command []string, timeout time.Duration) (*cri.ExecSyncResponse, error) {
	var out, errs bounded
	code, err := r.execute(ctx, id, command, timeout, nil, &out, &errs)
	if err != nil {
		return nil, err
	}
	return &cri.ExecSyncResponse{Stdout: out.Bytes(), Stderr: errs.Bytes(), ExitCode: code}, nil
}

// bounded keeps the beginning of what is written.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), maxOutput-b.Len())])
	return len(p), nil
}

// pipes are the streams of a command.
type pipes struct {
	theirs [3]*os.File // the command's ends
	ours   []*os.File
	starts []func()
	copies sync.WaitGroup // of what the command writes
}

// open connects one stream: 0 is read from in, others are written to out.
func (p *pipes) open(i int, in io.Reader, out io.Writer) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	if i == 0 {
		p.theirs[i], p.ours = read, append(p.ours, write)
		p.starts = append(p.starts, func() { go func() { _, _ = io.Copy(write, in); _ = write.Close() }() })
		return nil
	}
	p.theirs[i], p.ours = write, append(p.ours, read)
	p.starts = append(p.starts, func() { p.copies.Go(func() { _, _ = io.Copy(out, read) }) })
	return nil
}

// handOver closes the command's ends, which it has by now.
func (p *pipes) handOver() {
	for i, f := range p.theirs {
		if f != nil {
			_ = f.Close()
			p.theirs[i] = nil
		}
	}
}

func (p *pipes) close() {
	p.handOver()
	for _, f := range p.ours {
		_ = f.Close()
	}
}

// execute runs a command with pipes for its streams; nil ones are not connected.
func (r *Runtime) execute(ctx context.Context, id string, command []string, timeout time.Duration, in io.Reader, out, errOut io.Writer) (int32, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var streams pipes
	defer streams.close()
	for i, wanted := range []bool{in != nil, out != nil, errOut != nil} {
		if !wanted {
			continue
		}
		if err := streams.open(i, in, []io.Writer{nil, out, errOut}[i]); err != nil {
			return 0, err
		}
	}
	p, err := r.command(id, command, false, streams.theirs)
	if err != nil {
		return 0, err
	}
	defer p.close()
	streams.handOver()
	for _, start := range streams.starts {
		start()
	}
	err = p.await(ctx)
	for _, f := range streams.ours { // what the command has started may hold the other ends
		_ = f.SetReadDeadline(time.Now().Add(outputPatience))
	}
	streams.copies.Wait()
	if err != nil {
		return 0, status.Errorf(codes.DeadlineExceeded, "command %q in container %s: not done in time", command, id)
	}
	return p.code(), nil
}

// await waits for the end of a command; when ctx ends it is killed.
func (p *process) await(ctx context.Context) error {
	select {
	case <-p.over:
		return nil
	case <-ctx.Done():
		p.killGroup()
		<-p.over
		return ctx.Err()
	}
}
