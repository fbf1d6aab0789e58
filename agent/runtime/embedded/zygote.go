package embedded

import (
	"context"
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

// shimFactory creates shims and other processes by forking the zygote.
type shimFactory struct {
	executables *executables
	dir         string        // of the runtime
	limitCPU    func(pid int) // is called for each zygote

	// timeout bounds one request to the zygote.
	timeout time.Duration

	mu     sync.Mutex
	conn   *net.UnixConn // nil if there is no zygote
	zygote *process
	forks  int // of this zygote
	closed bool
}

const (
	// forkTimeout allows for a busy machine.
	forkTimeout = 30 * time.Second
	// maxForks is the maximum number of forks per zygote, which leaks about 300 bytes per fork
	// because it has no garbage collector.
	maxForks = 10_000
)

// errZygoteExited reports that the zygote did not receive the request.
var errZygoteExited = errors.New("zygote has exited")

// startShim creates a shim for a container's directory. files are the shim.Passed files in order.
// The caller claims the shim by sending shim.Go: only then does the shim start its container.
func (s *shimFactory) startShim(dir string, files [4]int) (*process, error) {
	p, err := s.start(context.Background(), dir, files[:])
	if err != nil {
		return nil, fmt.Errorf("starting a shim: %w", err)
	}
	return p, nil
}

// start sends a request to the zygote and returns the new process. It fails if ctx ends before the zygote can
// receive the request.
func (s *shimFactory) start(ctx context.Context, request string, files []int) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for retried := false; ; retried = true {
		pid, err := s.requestFork(request, files)
		if errors.Is(err, errZygoteExited) && !retried { // it was killed: try a new one
			continue
		}
		if err != nil {
			return nil, err
		}
		fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK) // an unreaped child: its ID cannot be reused
		if err != nil {
			return nil, fmt.Errorf("opening a pidfd: %w", err)
		}
		return watchProcess(pid, fd, true)
	}
}

// requestFork requests a fork. If the zygote does not answer, a fork may exist. requestFork then returns
// an error and kills the zygote, so that the next request does not wait. The caller abandons the
// container: an unclaimed shim does not start it.
func (s *shimFactory) requestFork(request string, files []int) (int, error) {
	if err := s.startZygote(); err != nil {
		return 0, err
	}
	_ = s.conn.SetDeadline(time.Now().Add(s.timeout))
	if _, _, err := s.conn.WriteMsgUnix([]byte(request), unix.UnixRights(files...), nil); err != nil {
		s.stopZygote()
		return 0, errors.Join(errZygoteExited, err)
	}
	reply := make([]byte, 256)
	n, err := s.conn.Read(reply)
	if errors.Is(err, unix.ECONNRESET) { // it exited without reading the request
		s.stopZygote()
		return 0, errZygoteExited
	}
	if err != nil || n == 0 {
		s.stopZygote()
		return 0, errors.Join(errors.New("berth-shims, the process that starts shims, did not respond"), err)
	}
	pid, err := strconv.Atoi(string(reply[:n]))
	if err != nil {
		return 0, errors.New(string(reply[:n]))
	}
	if s.forks++; s.forks >= maxForks {
		s.stopZygote()
	}
	return pid, nil
}

// startZygote starts the zygote if there is none.
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
	agentEnd, childEnd := os.NewFile(uintptr(pair[0]), "shims"), os.NewFile(uintptr(pair[1]), "requests")
	defer agentEnd.Close()
	defer childEnd.Close()
	conn, err := net.FileConn(agentEnd)
	if err != nil {
		return err
	}
	zygote, err := s.forkZygote(childEnd)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", shim.Name, err), conn.Close())
	}
	go reapZygote(zygote)
	s.conn, s.zygote, s.forks = conn.(*net.UnixConn), zygote, 0
	return nil
}

// forkZygote executes this program as the zygote, which reads from requests.
func (s *shimFactory) forkZygote(requests *os.File) (*process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	pidfd := -1
	pid, err := syscall.ForkExec(s.executables.path(), []string{shim.Name, strings.Repeat(".", shim.ArgumentSize)}, &syscall.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=1", "GOGC=off", "BERTH_RUNTIME=" + s.dir}, // BERTH_RUNTIME identifies the runtime in ps
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), requests.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}})
	if err != nil {
		return nil, err
	}
	s.limitCPU(pid)
	return watchProcess(pid, pidfd, true)
}

// reapZygote reaps the zygote and unclaimed shims, which stay in its process group.
func reapZygote(zygote *process) {
	<-zygote.exited
	zygote.close()
	for {
		n, err := syscall.Wait4(-zygote.pid, nil, syscall.WNOHANG, nil)
		switch {
		case err == syscall.ECHILD:
			return
		case n == 0 && err == nil: // a shim runs: it will exit or leave the group, and leaving does not end a blocking wait
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// stopZygote kills the zygote in any state, even if it is stopped by a signal.
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
