package embedded

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// dial connects to a port on the sandbox's loopback address.
func (s *sandbox) dial(port int32) (net.Conn, error) {
	var errs []error
	for _, to := range []unix.Sockaddr{&unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}},
		&unix.SockaddrInet6{Port: int(port), Addr: [16]byte{15: 1}}} {
		conn, err := s.dialTo(to)
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

func (s *sandbox) dialTo(to unix.Sockaddr) (net.Conn, error) {
	family := unix.AF_INET
	if _, ok := to.(*unix.SockaddrInet6); ok {
		family = unix.AF_INET6
	}
	fd, err := s.socket(family)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "port "+strconv.Itoa(family))
	defer f.Close()
	if err := unix.Connect(fd, to); err != nil { // does not block on loopback
		return nil, os.NewSyscallError("connect", err)
	}
	return net.FileConn(f)
}

// socket returns a socket in the sandbox's network namespace. It stays there in any thread.
func (s *sandbox) socket(family int) (fd int, err error) {
	if s.hostNetwork() {
		return unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	}
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return -1, err
	}
	defer own.Close()
	err = s.withProcess(func(sandbox int) error {
		runtime.LockOSThread()
		if err := unix.Setns(sandbox, unix.CLONE_NEWNET); err != nil {
			runtime.UnlockOSThread()
			return os.NewSyscallError("setns", err)
		}
		var err error
		fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
			return errors.Join(err, back) // the locked thread exits with its goroutine
		}
		runtime.UnlockOSThread()
		return err
	})
	return fd, err
}
