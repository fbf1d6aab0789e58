package e2e

import "syscall"

// dieWithTest has the kernel kill a process when the test's process is gone, even
// if that was killed and cleaned up nothing.
func dieWithTest() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
