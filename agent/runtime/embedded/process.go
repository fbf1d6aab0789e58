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

// process is one that runs beside the agent. By its file descriptor it is never taken for another.
type process struct {
	pid       int
	child     bool // a child of this process, to be waited for
	file      *os.File
	exited    chan struct{} // closed when it has ended
	state     syscall.WaitStatus
	closeOnce sync.Once
}

// watchProcess takes a pidfd, which must be made with PIDFD_NONBLOCK or be a child's.
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
	go func() { // parked in the runtime's poller, without a thread
		ended := false
		_ = conn.Read(func(fd uintptr) bool {
			ended = readable(int(fd))
			return ended
		})
		if !ended {
			return // let go of
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

// findProcess is the process of that id, if it was made when start says; nil when it is gone.
func findProcess(pid int, start string) *process {
	if pid <= 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil
	}
	if shim.StartTime(pid) != start { // the id was given to another one, before it was opened
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

// wait waits for its end, and says whether it came.
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

// kill sends it a signal.
func (p *process) kill(signal syscall.Signal) {
	_ = p.withFD(func(fd int) error { return unix.PidfdSendSignal(fd, signal, nil, 0) })
}

// withFD calls do with its pidfd.
func (p *process) withFD(do func(fd int) error) error {
	if p.file == nil {
		return os.ErrProcessDone
	}
	return withFD(p.file, do)
}

// namespace opens one of its namespaces, such as net. The process was there afterwards: its id has not been another's.
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

// close lets go of it.
func (p *process) close() {
	if p.file != nil {
		p.closeOnce.Do(func() { _ = p.file.Close() })
	}
}

// spawnOptions is how a process of package inside is started.
type spawnOptions struct {
	flags   uintptr // of clone
	process int     // inside.ProcessFD
	// pidNamespace is a pidfd whose process namespace it is started in; 0: the agent's.
	pidNamespace int
	files        [3]*os.File // standard streams; nil ones are /dev/null
	// onStart is called with the process before it goes on; it is one of a sandbox then, and ends if the agent does.
	onStart func(*process) error
}

// spawn starts this program as one of package inside, and waits until it has become what it is to be.
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
	wait, hold, err := os.Pipe() // what a sandbox waits for
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
		<-p.exited // it ends after its report
		p.close()
		return nil, err
	}
	return p, nil
}

// forkExec starts the process itself.
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
	Code    int // an exit code for it, as shells have them
}

func (e *StartError) Error() string { return e.Message }

// readReport reads a report of package inside, which is empty when all went well.
func readReport(report io.Reader) error {
	text, err := io.ReadAll(report)
	if err != nil || len(text) == 0 {
		return err
	}
	code, message, _ := strings.Cut(string(text), " ")
	number, err := strconv.Atoi(code)
	if err != nil {
		return fmt.Errorf("it ended: %q", text)
	}
	return &StartError{strings.TrimSpace(message), number}
}

// newMemfd is a file with that text, without a name.
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

// inPIDNamespace calls do such that processes it starts are in the process namespace of a pidfd; 0 is the agent's.
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
		return fmt.Errorf("joining the container's process namespace: %w", err)
	}
	err = do()
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWPID); back != nil {
		// The thread is not let go of: it ends with its goroutine, and nobody else starts anything there.
		return errors.Join(err, back)
	}
	runtime.UnlockOSThread()
	return err
}

// sleep waits a moment, or until ctx ends.
func sleep(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(10 * time.Millisecond):
		return nil
	}
}
