package testprogram

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attackNames are the accepted values in an attackList.
var attackNames = []string{"stop", "kill", "ptrace", "fork", "write", "descriptors", "listen", "vsock"}

// attackList is the value of the flag with attacks, separated by commas.
type attackList []string

// Set implements flag.Value.
func (a *attackList) Set(text string) error {
	*a = strings.Split(text, ",")
	for _, name := range *a {
		if !slices.Contains(attackNames, name) {
			return fmt.Errorf("%q: must be a list of %s", name, strings.Join(attackNames, ", "))
		}
	}
	return nil
}

// String implements flag.Value.
func (a *attackList) String() string { return strings.Join(*a, ",") }

// runAttack runs one attack. Only write, descriptors, listen and vsock return before ctx ends.
func (w *worker) runAttack(ctx context.Context, name string) error {
	if os.Getpid() != 1 {
		return errors.New("requires a private PID namespace, because it attacks all processes that it may signal")
	}
	switch name {
	case "stop":
		return signalAll(ctx, syscall.SIGSTOP)
	case "kill":
		return signalAll(ctx, syscall.SIGKILL)
	case "ptrace":
		return traceAll(ctx)
	case "fork":
		return forkRepeatedly(ctx)
	case "write":
		return writeEverywhere(int64(w.attackSize))
	case "listen":
		return listenWithoutAccepting()
	case "vsock":
		return openVSOCK()
	}
	return openDescriptors()
}

// signalAll sends a signal to every process that this one may signal.
func signalAll(ctx context.Context, signal syscall.Signal) error {
	for ctx.Err() == nil {
		for range 100 {
			_ = syscall.Kill(-1, signal)
		}
		runtime.Gosched()
	}
	return ctx.Err()
}

// traceAll attaches to every process that this one may trace, and keeps it stopped.
func traceAll(ctx context.Context) error {
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	for ctx.Err() == nil {
		dir, err := os.Open("/proc")
		if err != nil {
			return err
		}
		names, err := dir.Readdirnames(-1)
		dir.Close()
		if err != nil {
			return err
		}
		for _, name := range names {
			if pid, err := strconv.Atoi(name); err == nil && pid != 1 {
				_ = syscall.PtraceAttach(pid)
			}
		}
		_, _ = syscall.Wait4(-1, nil, syscall.WNOHANG|unix.WALL, nil)
	}
	return ctx.Err()
}

// forkRepeatedly starts processes up to the limit. Each exits after 100 ms.
func forkRepeatedly(ctx context.Context) error {
	attr := &syscall.ProcAttr{Env: os.Environ(), Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	for ctx.Err() == nil {
		if _, err := syscall.ForkExec("/proc/self/exe", []string{programName, "sleep", "100ms"}, attr); err != nil {
			time.Sleep(time.Millisecond)
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
	return ctx.Err()
}

// writablePaths are the files and directories that a container can usually write.
var writablePaths = []string{"/fill", "/tmp/fill", "/dev/fill", "/dev/shm/fill", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/dev/termination-log"}

// writeEverywhere writes limit bytes to each of writablePaths.
func writeEverywhere(limit int64) error {
	data := nonZeroChunk()
	for _, name := range writablePaths {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			continue
		}
		for remaining := limit; remaining > 0 && err == nil; remaining -= chunkSize {
			_, err = f.Write(data[:min(remaining, chunkSize)])
		}
		f.Close()
	}
	return nil
}

// openDescriptors opens files until it reaches the limit, and does not close them.
func openDescriptors() error {
	var fds []int
	for {
		fd, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0)
		if err != nil {
			break
		}
		fds = append(fds, fd)
	}
	if len(fds) == 0 {
		return errors.New("no file could be opened")
	}
	return nil
}

// listenWithoutAccepting listens on 127.0.0.1:81 and fills the queue of connections.
func listenWithoutAccepting() error {
	address := &unix.SockaddrInet4{Port: 81, Addr: [4]byte{127, 0, 0, 1}}
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(listener, address); err != nil {
		return err
	}
	if err := unix.Listen(listener, 0); err != nil {
		return err
	}
	for range 16 {
		client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		if err := unix.Connect(client, address); err != nil && err != unix.EINPROGRESS {
			return err
		}
	}
	return nil
}

// openVSOCK creates a socket for connections to the hypervisor or to other virtual machines, and closes it.
func openVSOCK() error {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}
