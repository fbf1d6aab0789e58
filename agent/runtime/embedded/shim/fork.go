package shim

import (
	"syscall"
	"unsafe"
)

// forkInit starts this program as InitName with the given files in new namespaces. It forks and
// then executes, because syscall.ForkExec would call the scheduler (see forked).
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

// execInit executes this program. It returns only with an error.
func execInit(files []int) error {
	if _, err := syscall.Setsid(); err != nil {
		return err
	}
	_ = prctl(prSetTHPDisable, 0) // inherited by the container's program
	// Highest number first: SandboxFD must be duplicated before its number is reused.
	for i := len(files) - 1; i >= 0; i-- {
		if _, errno := call(syscall.SYS_DUP3, uintptr(files[i]), uintptr(i), 0, 0, 0); errno != 0 {
			return errno
		}
	}
	// syscall.Exec would wait for threads that are being created, and this process has none (see
	// zygote.fork).
	_, errno := call(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(&exePath[0])), uintptr(unsafe.Pointer(&initArgs)), uintptr(unsafe.Pointer(&initEnv)), 0, 0)
	return errno
}

// Arguments of execInit: this program, its name as the only argument, and an environment for Go's runtime. While the
// first thread waits in a raw system call such as fork, a second thread that runs Go code or collects garbage would
// spin.
var (
	exePath   = []byte("/proc/self/exe\x00")
	initName  = []byte(InitName + "\x00")
	initArgs  = [2]*byte{&initName[0], nil}
	oneThread = []byte("GOMAXPROCS=1\x00")
	noGarbage = []byte("GOGC=off\x00")
	initEnv   = [3]*byte{&oneThread[0], &noGarbage[0], nil}
)
