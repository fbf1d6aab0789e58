package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/runtime/embedded/containerinit"
	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// process is a process identified by its pidfd, so that a reused process ID is not confused with
// it.
type process struct {
	pid       int
	child     bool // a child of this process, which must be reaped
	file      *os.File
	exited    chan struct{}
	state     syscall.WaitStatus
	closeOnce sync.Once
}

// watchProcess takes ownership of a pidfd, which must have PIDFD_NONBLOCK or belong to a child.
func watchProcess(pid, fd int, own bool) (*process, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	p := &process{pid: pid, child: own, file: os.NewFile(uintptr(fd), "process "+strconv.Itoa(pid)), exited: make(chan struct{})}
	conn, err := p.file.SyscallConn()
	if err != nil {
		return nil, err
	}
	go func() { // waits in the runtime's poller, without a thread
		ended := false
		_ = conn.Read(func(fd uintptr) bool {
			ended = readable(int(fd))
			return ended
		})
		if !ended {
			return // closed
		}
		if p.child {
			_, _ = syscall.Wait4(p.pid, &p.state, 0, nil)
		}
		close(p.exited)
	}()
	return p, nil
}

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

// kill sends a signal.
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

// namespace opens a namespace of the process, for example net. The process is still alive after
// the open, so its ID was not reused.
func (p *process) namespace(name string) (*os.File, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", p.pid, name))
	if err != nil {
		return nil, err
	}
	ended := true
	_ = p.withFD(func(fd int) error { ended = readable(fd); return nil })
	if ended {
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

// spawnOptions describes how to start a process of package containerinit.
type spawnOptions struct {
	flags   uintptr
	process int // containerinit.ProcessFD
	// pidNamespace is a pidfd whose PID namespace the process starts in; 0 is the agent's.
	pidNamespace int
	files        [3]*os.File // standard streams; nil means /dev/null
	// onStart is called before the process continues, for sandboxes. The process exits if the agent
	// does.
	onStart func(*process) error
}

// spawn starts this program as name and waits until it has executed its target.
func (s *executables) spawn(name string, spec *containerinit.Spec, how spawnOptions) (*process, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	specFile, err := newMemfd(text)
	if err != nil {
		return nil, err
	}
	defer specFile.Close()
	report, childEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer report.Close()
	wait, hold, err := os.Pipe() // blocks a sandbox until it is recorded
	if err != nil {
		return nil, errors.Join(err, childEnd.Close())
	}
	defer wait.Close()
	defer hold.Close()
	if how.onStart != nil {
		how.files[0] = wait
	}
	p, err := s.forkExec(name, how, specFile, childEnd)
	_ = childEnd.Close()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	if how.onStart != nil {
		if err = how.onStart(p); err == nil {
			_, err = hold.Write([]byte{0})
		}
	}
	if err != nil {
		p.kill(syscall.SIGKILL)
	} else {
		err = readReport(report)
	}
	if err != nil {
		<-p.exited // it exits after its report
		p.close()
		return nil, err
	}
	return p, nil
}

// forkExec starts the process.
func (s *executables) forkExec(name string, how spawnOptions, spec, report *os.File) (*process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	files := []uintptr{null.Fd(), null.Fd(), null.Fd(), spec.Fd(), report.Fd(), uintptr(how.process)}
	for i, f := range how.files {
		if f != nil {
			files[i] = f.Fd()
		}
	}
	pid, pidfd := 0, -1
	attr := &syscall.ProcAttr{Files: files, Env: []string{}, Sys: &syscall.SysProcAttr{Setsid: true, Cloneflags: how.flags, PidFD: &pidfd}}
	err = inPIDNamespace(how.pidNamespace, func() (err error) {
		pid, err = syscall.ForkExec(s.path(), []string{name}, attr)
		return err
	})
	if err != nil {
		return nil, err
	}
	return watchProcess(pid, pidfd, true)
}

// StartError is why a program could not be started.
type StartError struct {
	Message string
	Code    int // exit code as in shells
}

func (e *StartError) Error() string { return e.Message }

// readReport reads a report of package containerinit. It is empty on success.
func readReport(report io.Reader) error {
	text, err := io.ReadAll(report)
	if err != nil || len(text) == 0 {
		return err
	}
	code, message, _ := strings.Cut(string(text), " ")
	number, err := strconv.Atoi(code)
	if err != nil {
		return fmt.Errorf("invalid report: %q", text)
	}
	return &StartError{strings.TrimSpace(message), number}
}

// newMemfd returns an anonymous file with that text.
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

// inPIDNamespace calls do so that the processes it starts are in the PID namespace of a pidfd; 0
// is the agent's.
func inPIDNamespace(fd int, do func() error) error {
	if fd <= 0 {
		return do()
	}
	own, err := os.Open("/proc/self/ns/pid")
	if err != nil {
		return err
	}
	defer own.Close()
	runtime.LockOSThread()
	if err := unix.Setns(fd, unix.CLONE_NEWPID); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("joining the container's PID namespace: %w", err)
	}
	err = do()
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWPID); back != nil {
		// The thread stays locked and exits with its goroutine.
		return errors.Join(err, back)
	}
	runtime.UnlockOSThread()
	return err
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
