package shim

import (
	"syscall"
	"unsafe"
)

// forked reports whether this process is a fork of the zygote. A fork has one thread, but its Go scheduler has the
// state of the zygote.
var forked bool

// call makes a system call. In a fork it bypasses the scheduler, which would otherwise try to hand
// work to other threads. The memory that arguments point to escapes to the heap, as for package
// syscall: it must not be on the stack.
//
//go:uintptrescapes
func call(number, a, b, c, d, e uintptr) (int, syscall.Errno) {
	var r uintptr
	var errno syscall.Errno
	if forked {
		r, _, errno = syscall.RawSyscall6(number, a, b, c, d, e, 0)
	} else {
		r, _, errno = syscall.Syscall6(number, a, b, c, d, e, 0)
	}
	if errno != 0 {
		return -1, errno
	}
	return int(r), 0
}

// retryEINTR repeats a call while a signal interrupts it.
func retryEINTR(do func() (int, syscall.Errno)) (int, error) {
	for {
		n, errno := do()
		switch errno {
		case 0:
			return n, nil
		case syscall.EINTR:
		default:
			return -1, errno
		}
	}
}

func open(path string, flags, mode int) (int, error) {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	return retryEINTR(func() (int, syscall.Errno) {
		return call(syscall.SYS_OPENAT, atCwd, uintptr(unsafe.Pointer(name)), uintptr(flags|syscall.O_CLOEXEC), uintptr(mode), 0)
	})
}

func read(fd int, buf []byte) (int, syscall.Errno) {
	return call(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), 0, 0)
}

func write(fd int, text []byte) (int, syscall.Errno) {
	return call(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(text))), uintptr(len(text)), 0, 0)
}

func writeAll(fd int, text []byte) error {
	for len(text) > 0 {
		n, errno := write(fd, text)
		switch errno {
		case 0:
			text = text[n:]
		case syscall.EINTR:
		default:
			return errno
		}
	}
	return nil
}

func closeFile(fd int) { _, _ = call(syscall.SYS_CLOSE, uintptr(fd), 0, 0, 0, 0) }

// setNonblock makes a file non-blocking.
func setNonblock(fd int) error {
	flags, errno := call(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0, 0, 0)
	if errno == 0 {
		_, errno = call(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFL, uintptr(flags|syscall.O_NONBLOCK), 0, 0)
	}
	if errno != 0 {
		return errno
	}
	return nil
}

func renameFile(from, to string) error {
	a, err := syscall.BytePtrFromString(from)
	if err != nil {
		return err
	}
	b, err := syscall.BytePtrFromString(to)
	if err != nil {
		return err
	}
	if _, errno := call(syscall.SYS_RENAMEAT, atCwd, uintptr(unsafe.Pointer(a)), atCwd, uintptr(unsafe.Pointer(b)), 0); errno != 0 {
		return errno
	}
	return nil
}

// unlink removes a file by its C string. Errors are ignored.
func unlink(name []byte) {
	_, _ = call(syscall.SYS_UNLINKAT, atCwd, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
}

func readFile(path string) ([]byte, error) {
	fd, err := open(path, syscall.O_RDONLY, 0)
	if err != nil {
		return nil, &pathError{path, err}
	}
	defer closeFile(fd)
	text := make([]byte, 0, 1024)
	for {
		if len(text) == cap(text) {
			text = append(text, 0)[:len(text)]
		}
		n, errno := read(fd, text[len(text):cap(text)])
		switch {
		case errno == syscall.EINTR:
		case errno != 0:
			return nil, &pathError{path, errno}
		case n == 0:
			return text, nil
		default:
			text = text[:len(text)+n]
		}
	}
}

func prctl(option int, a uintptr) error {
	if _, errno := call(syscall.SYS_PRCTL, uintptr(option), a, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// Options of prctl(2).
const (
	prSetName       = 15
	prSetMM         = 35
	prSetMMArgEnd   = 9
	prSetTHPDisable = 41
)

// atCwd makes paths relative to the working directory: AT_FDCWD, -100.
const atCwd = ^uintptr(99)

// callPidfdOpen has the same number on all architectures.
const callPidfdOpen = 434
