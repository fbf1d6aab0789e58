//go:build linux

package serviceproxy

import (
	"errors"

	"golang.org/x/sys/unix"
)

// tryLock makes this process the proxy of the network namespace. busy reports whether another process
// is the proxy.
func tryLock() (unlock func(), busy bool, err error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, false, err
	}
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + tableName})
	if err != nil {
		_ = unix.Close(fd)
		return nil, errors.Is(err, unix.EADDRINUSE), ignoreBusy(err)
	}
	return func() { _ = unix.Close(fd) }, false, nil
}

func ignoreBusy(err error) error {
	if errors.Is(err, unix.EADDRINUSE) {
		return nil
	}
	return err
}

// Running reports whether a process is the proxy of this network namespace.
func Running() bool {
	unlock, busy, err := tryLock()
	if err == nil && !busy {
		unlock()
	}
	return busy
}

// RemoveUnused removes the tables that an earlier proxy has left, unless a proxy is running.
func RemoveUnused() error {
	unlock, busy, err := tryLock()
	if err != nil || busy {
		return err
	}
	defer unlock()
	return Remove()
}
