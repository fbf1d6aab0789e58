package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// process is a process identified by its pidfd, which never refers to another process that reuses the process ID.
type process struct {
	pid       int
	child     bool // a child of this process, which must be reaped
	file      *os.File
	exited    chan struct{}      // closed when the process has exited
	state     syscall.WaitStatus // of a child that has exited
	closeOnce sync.Once
}

// watchProcess returns a process whose channel exited is closed when the process exits. It takes
// ownership of the pidfd fd, which must have PIDFD_NONBLOCK or belong to a child.
func watchProcess(pid, fd int, child bool) (*process, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	p := &process{pid: pid, child: child, file: os.NewFile(uintptr(fd), "process "+strconv.Itoa(pid)), exited: make(chan struct{})}
	conn, err := p.file.SyscallConn()
	if err != nil {
		return nil, err
	}
	go func() { // waits in the runtime's poller, without a thread
		exited := false
		_ = conn.Read(func(fd uintptr) bool {
			exited = readable(int(fd))
			return exited
		})
		if !exited {
			return // closed
		}
		if p.child {
			_, _ = syscall.Wait4(p.pid, &p.state, 0, nil)
		}
		close(p.exited)
	}()
	return p, nil
}

// readable reports whether a file has input, or the process of a pidfd has exited.
func readable(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}

// findProcess returns the process with that ID and start time, or nil if it has exited.
func findProcess(pid int, start string) *process {
	if pid <= 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil
	}
	if shim.StartTime(pid) != start { // the ID was reused before it was opened
		_ = unix.Close(fd)
		return nil
	}
	p, err := watchProcess(pid, fd, false)
	if err != nil {
		return nil
	}
	return p
}

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// wait reports whether the process exits within limit.
func (p *process) wait(limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
		return false
	}
}

func (p *process) kill(signal syscall.Signal) {
	_ = p.withFD(func(fd int) error { return unix.PidfdSendSignal(fd, signal, nil, 0) })
}

// withFD calls do with the pidfd.
func (p *process) withFD(do func(fd int) error) error {
	if p.file == nil {
		return os.ErrProcessDone
	}
	return withFD(p.file, do)
}

// namespace opens a namespace of the process, for example net. It returns an error if the process has exited after
// the open, because its ID may have been reused.
func (p *process) namespace(name string) (*os.File, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", p.pid, name))
	if err != nil {
		return nil, err
	}
	exited := true
	_ = p.withFD(func(fd int) error { exited = readable(fd); return nil })
	if exited {
		return nil, errors.Join(os.ErrProcessDone, f.Close())
	}
	return f, nil
}

// close closes the pidfd.
func (p *process) close() {
	if p.file != nil {
		p.closeOnce.Do(func() { _ = p.file.Close() })
	}
}

// release closes the pidfd once the process has exited.
func (p *process) release() {
	if p.hasExited() {
		p.close()
		return
	}
	go func() {
		<-p.exited
		p.close()
	}()
}

// duplicateFD returns a copy of the pidfd, which the caller closes. Unlike withFD it suits long
// operations: the pidfd can be closed meanwhile.
func (p *process) duplicateFD() (int, error) {
	out := -1
	err := p.withFD(func(fd int) (err error) {
		out, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		return os.NewSyscallError("fcntl", err)
	})
	return out, err
}

// StartError reports why a program could not be started.
type StartError struct {
	Message string
	Code    int // exit code as in shells
}

// Error implements error.
func (e *StartError) Error() string { return e.Message }

// parseStartError parses an error report of package containerinit.
func parseStartError(text string) error {
	code, message, _ := strings.Cut(text, " ")
	number, err := strconv.Atoi(code)
	if err != nil {
		return fmt.Errorf("invalid report: %q", text)
	}
	return &StartError{strings.TrimSpace(message), number}
}

// sleep blocks for 10 ms or until ctx ends.
func sleep(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(10 * time.Millisecond):
		return nil
	}
}
