package installtest

import (
	"os/exec"
	"syscall"
)

// stopWithTest lets the kernel kill a process when the test process ends, also if that is killed.
func stopWithTest(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
