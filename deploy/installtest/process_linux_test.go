package installtest

import (
	"os/exec"
	"syscall"
)

// stopWithTest makes the kernel kill a process when the test process ends, also if the test process is killed.
func stopWithTest(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
