package e2e

import "syscall"

// killWithTest makes the kernel kill a process when the test process ends, even if the test
// was killed without cleanup.
func killWithTest() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
