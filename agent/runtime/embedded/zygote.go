package embedded

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/runtime/embedded/shim"
)

// shimFactory has shims made: copies of one process, that ends with the agent.
type shimFactory struct {
	executables *executables
	dir         string // the runtime's

	// timeout is how long a copy may take to be made.
	timeout time.Duration

	mu     sync.Mutex
	conn   *net.UnixConn // nil: there is no such process
	zygote *process      // where conn is
	copies int           // that it has made
	closed bool
}

const (
	// copyTimeout is for a machine that has much else to do.
	copyTimeout = 30 * time.Second
	// maxCopies are made of one process: it has no garbage collection, and keeps some 300 bytes of each.
	maxCopies = 10_000
)

// errZygoteExited says that a request was not even taken.
var errZygoteExited = errors.New("the process that shims are copied from has ended")

// startShim makes a shim for a container's directory. The files are those of shim.Handed, in order. It begins with shim.Go.
func (s *shimFactory) startShim(dir string, files [4]int) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for again := false; ; again = true {
		pid, err := s.requestCopy(dir, files[:])
		if errors.Is(err, errZygoteExited) && !again { // somebody has killed it
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("starting a shim: %w", err)
		}
		fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK) // a child of this process, which is not waited for yet: the id is its own
		if err != nil {
			return nil, fmt.Errorf("starting a shim: pidfd_open: %w", err)
		}
		return watchProcess(pid, fd, true)
	}
}

// requestCopy asks for a copy. Where there is no answer nobody knows whether there is one: its container is given up, and what would
// answer is ended, so that the next request does not wait for it as long. A copy that nobody knows of does not begin.
func (s *shimFactory) requestCopy(dir string, files []int) (int, error) {
	if err := s.startZygote(); err != nil {
		return 0, err
	}
	_ = s.conn.SetDeadline(time.Now().Add(s.timeout))
	if _, _, err := s.conn.WriteMsgUnix([]byte(dir), unix.UnixRights(files...), nil); err != nil {
		s.stopZygote()
		return 0, errors.Join(errZygoteExited, err)
	}
	answer := make([]byte, 256)
	n, err := s.conn.Read(answer)
	if errors.Is(err, unix.ECONNRESET) { // it ended and had not read the request
		s.stopZygote()
		return 0, errZygoteExited
	}
	if err != nil || n == 0 {
		s.stopZygote()
		return 0, errors.Join(errors.New("no answer from the process that it would be copied from"), err)
	}
	pid, err := strconv.Atoi(string(answer[:n]))
	if err != nil {
		return 0, errors.New(string(answer[:n]))
	}
	if s.copies++; s.copies >= maxCopies {
		s.stopZygote()
	}
	return pid, nil
}

// startZygote starts the process that shims are copied from, if there is none.
func (s *shimFactory) startZygote() error {
	if s.closed {
		return os.ErrClosed
	}
	if s.conn != nil {
		return nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ours, childEnd := os.NewFile(uintptr(pair[0]), "shims"), os.NewFile(uintptr(pair[1]), "requests")
	defer ours.Close()
	defer childEnd.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return err
	}
	original, err := s.forkZygote(childEnd)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", shim.Name, err), conn.Close())
	}
	go reapZygote(original)
	s.conn, s.zygote, s.copies = conn.(*net.UnixConn), original, 0
	return nil
}

func (s *shimFactory) forkZygote(requests *os.File) (*process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	pidfd := -1
	pid, err := syscall.ForkExec(s.executables.path(), []string{shim.Name, strings.Repeat(".", shim.ArgumentSize)}, &syscall.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=1", "GOGC=off", "BERTH_RUNTIME=" + s.dir}, // the last for who wonders whose it is
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), requests.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}})
	if err != nil {
		return nil, err
	}
	return watchProcess(pid, pidfd, true)
}

// reapZygote waits for the end of a process that shims are copied from, and of copies that nobody has taken: they stay in its process group.
func reapZygote(original *process) {
	<-original.exited
	original.close()
	for {
		n, err := syscall.Wait4(-original.pid, nil, syscall.WNOHANG, nil)
		switch {
		case err == syscall.ECHILD:
			return
		case n == 0 && err == nil: // one lives: it ends, or leaves the group, which wakes nobody who waits
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// stopZygote ends the process that shims are copied from, whatever it is at; it may be stopped.
func (s *shimFactory) stopZygote() {
	if s.conn != nil {
		s.zygote.kill(syscall.SIGKILL)
		_ = s.conn.Close()
		s.conn, s.zygote = nil, nil
	}
}

func (s *shimFactory) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopZygote()
	s.closed = true
}
