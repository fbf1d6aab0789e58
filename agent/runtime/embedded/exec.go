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

// execute runs a command with pipes for its streams; nil ones are not connected.
func (r *Runtime) execute(ctx context.Context, id string, command []string, timeout time.Duration, in io.Reader, out, errOut io.Writer) (int32, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var files [3]*os.File
	var ours []*os.File
	defer func() {
		for _, f := range ours {
			_ = f.Close()
		}
	}()
	var copies sync.WaitGroup
	var starts []func()
	pipe := func(i int) (*os.File, error) {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		mine, theirs := read, write
		if i == 0 {
			mine, theirs = write, read
		}
		files[i] = theirs
		ours = append(ours, mine)
		return mine, nil
	}
	if in != nil {
		f, err := pipe(0)
		if err != nil {
			return 0, err
		}
		starts = append(starts, func() { go func() { _, _ = io.Copy(f, in); _ = f.Close() }() })
	}
	for i, to := range []io.Writer{out, errOut} {
		if to == nil {
			continue
		}
		f, err := pipe(i + 1)
		if err != nil {
			return 0, err
		}
		starts = append(starts, func() { copies.Go(func() { _, _ = io.Copy(to, f) }) })
	}
	p, err := r.command(id, command, false, files)
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
	if err != nil {
		return 0, err
	}
	defer p.close()
	for _, start := range starts {
		start()
	}
	err = p.await(ctx)
	for _, f := range ours { // what the command has started may hold the other ends
		_ = f.SetReadDeadline(time.Now().Add(outputPatience))
	}
	copies.Wait()
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
