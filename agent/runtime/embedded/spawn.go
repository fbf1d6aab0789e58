package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/runtime/embedded/containerinit"
	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// spawnOptions describes how to start a process of package containerinit.
type spawnOptions struct {
	args   []string // after the name
	flags  uintptr
	target int         // containerinit.ProcessFD
	report *os.File    // containerinit.ReportFD; closed by spawn
	stdio  [3]*os.File // nil means /dev/null
}

// spawn starts this program as name, as a child of this process. The new process is in the agent's PID namespace, or the
// first one in a new PID namespace: no container can stop it. If ctx ends before the process runs, spawn returns ctx.Err(),
// and the process is killed.
func (s *shimFactory) spawn(ctx context.Context, name string, spec *containerinit.Spec, o spawnOptions) (*process, error) {
	defer o.report.Close()
	files, err := o.duplicateFiles(spec)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	type result struct {
		process *process
		err     error
	}
	results := make(chan result, 1)
	go func() {
		p, err := s.start(ctx, shim.Program{Flags: o.flags, Args: append([]string{name}, o.args...)}.Text(), files)
		closeAll(files)
		results <- result{p, err}
	}()
	select {
	case r := <-results:
		if r.err != nil {
			return nil, fmt.Errorf("starting %s: %w", name, r.err)
		}
		return r.process, nil
	case <-ctx.Done():
		go func() {
			if r := <-results; r.err == nil {
				r.process.kill(syscall.SIGKILL)
				r.process.release()
			}
		}()
		return nil, ctx.Err()
	}
}

// duplicateFiles returns copies of the files of a process, by their numbers in it.
func (o *spawnOptions) duplicateFiles(spec *containerinit.Spec) (files []int, err error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	specFile, err := newMemfd(text)
	if err != nil {
		return nil, err
	}
	defer specFile.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	originals := [shim.NumProgramFiles]int{0: int(null.Fd()), 1: int(null.Fd()), 2: int(null.Fd()),
		containerinit.SpecFD: int(specFile.Fd()), containerinit.ReportFD: int(o.report.Fd()), containerinit.ProcessFD: o.target}
	for i, f := range o.stdio {
		if f != nil {
			originals[i] = int(f.Fd())
		}
	}
	for _, fd := range originals {
		duplicate, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			closeAll(files)
			return nil, os.NewSyscallError("fcntl", err)
		}
		files = append(files, duplicate)
	}
	return files, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// newMemfd returns an anonymous file that contains text.
func newMemfd(text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("spec", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "spec")
	if _, err := f.WriteAt(text, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
