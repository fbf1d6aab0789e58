package embedded

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// dial connects to a port on the sandbox's loopback address.
func (s *sandbox) dial(port int32, limit time.Duration) (net.Conn, error) {
	var errs []error
	for _, address := range []unix.Sockaddr{&unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}},
		&unix.SockaddrInet6{Port: int(port), Addr: [16]byte{15: 1}}} {
		conn, err := s.dialTo(address, limit)
		if err == nil {
			return conn, nil
		}
		if !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, unix.EAFNOSUPPORT) && !errors.Is(err, unix.EADDRNOTAVAIL) {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 { // both refused, or no IPv6
		return nil, fmt.Errorf("connection refused: no process in the pod listens on 127.0.0.1:%d or [::1]:%d", port, port)
	}
	return nil, errors.Join(errs...)
}

func (s *sandbox) dialTo(address unix.Sockaddr, limit time.Duration) (net.Conn, error) {
	family := unix.AF_INET
	if _, ok := address.(*unix.SockaddrInet6); ok {
		family = unix.AF_INET6
	}
	fd, err := s.socket(family)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	if err := connect(f, address, limit); err != nil {
		return nil, err
	}
	return net.FileConn(f)
}

// dialTimeout bounds the connection to a port. A listener with a full queue does not answer.
const dialTimeout = 10 * time.Second

// connect connects a non-blocking socket.
func connect(socket *os.File, address unix.Sockaddr, limit time.Duration) error {
	conn, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	if err := socket.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	var result error
	err = conn.Write(func(fd uintptr) bool { // called again until it is connected or refused
		result = unix.Connect(int(fd), address)
		if result == unix.EISCONN {
			result = nil
		}
		return result != unix.EINPROGRESS && result != unix.EALREADY && result != unix.EINTR
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("connect: no answer within %v", limit)
	}
	return errors.Join(err, os.NewSyscallError("connect", result))
}

// socket returns a socket in the sandbox's network namespace. The socket stays in the namespace,
// whichever thread uses it. The thread that joins the namespace for a moment does not fork. No
// process of the pod can signal it, because network namespaces do not contain processes.
func (s *sandbox) socket(family int) (fd int, err error) {
	const kind = unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	if s.hostNetwork() {
		return unix.Socket(family, kind, 0)
	}
	agentNamespace, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return -1, err
	}
	defer agentNamespace.Close()
	pidfd, err := s.openProcess()
	if err != nil {
		return -1, err
	}
	defer unix.Close(pidfd)
	runtime.LockOSThread()
	if err := unix.Setns(pidfd, unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return -1, os.NewSyscallError("setns", err)
	}
	fd, err = unix.Socket(family, kind, 0)
	if restoreErr := unix.Setns(int(agentNamespace.Fd()), unix.CLONE_NEWNET); restoreErr != nil {
		if err == nil {
			_ = unix.Close(fd)
		}
		return -1, errors.Join(err, restoreErr) // the locked thread exits with its goroutine
	}
	runtime.UnlockOSThread()
	return fd, err
}
