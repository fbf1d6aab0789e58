package shim

import (
	"syscall"
	"unsafe"
)

// forkInit starts this program as InitName, with files as its first ones, in the namespaces of flags. It is a copy of this process that
// executes the program: package syscall's own way would tell the scheduler (see alone).
func forkInit(files [6]int, flags uintptr) (int, error) {
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, flags|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return -1, &pathError{"clone", errno}
	}
	if pid != 0 {
		return int(pid), nil
	}
	report := files[4]
	if err := execInit(files[:]); err != nil {
		_, _ = write(report, []byte("128 starting the container: "+err.Error()))
	}
	quit(1)
	return 0, nil
}

// execInit returns only with an error.
func execInit(files []int) error {
	if _, err := syscall.Setsid(); err != nil {
		return err
	}
	_ = prctl(prSetTHPDisable, 0) // the container's program inherits it
	// From the highest number down: the last two are known by numbers of others.
	for i := len(files) - 1; i >= 0; i-- {
		if _, errno := call(syscall.SYS_DUP3, uintptr(files[i]), uintptr(i), 0, 0, 0); errno != 0 {
			return errno
		}
	}
	// Not by package syscall's Exec: it waits for threads that are being made, and here is none that would end (see original.copy).
	_, errno := call(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(&exePath[0])), uintptr(unsafe.Pointer(&initArgs)), uintptr(unsafe.Pointer(&initEnv)), 0, 0)
	return errno
}

// What execute executes: this program, with its name as only argument, and no environment.
var (
	exePath  = []byte("/proc/self/exe\x00")
	initName = []byte(InitName + "\x00")
	initArgs = [2]*byte{&initName[0], nil}
	initEnv  [1]*byte
)
