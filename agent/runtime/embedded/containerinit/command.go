package containerinit

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// Packets that the helper of a command sends to ReportFD. Any other packet is an error, as for
// Init: an exit code, a space and a message.
const (
	PacketProcess = "process " // followed by the process ID of the command, which does not run yet
	PacketStarted = "started"  // the command runs
)

// runExec runs a command in an existing container and exits with its exit code. This process, the
// helper, stays outside of the container's PID namespace, so the container cannot signal or trace
// it. It gives up its privileges before it forks: until the child executes the command, the child
// has no more rights than the container.
//
// If the agent exits, or closes its end of ReportFD, the helper kills the command.
func runExec(s *Spec) error {
	// After setns this thread cannot create threads. While it is locked, the runtime creates them from another thread.
	runtime.LockOSThread()
	cgroupFDs, err := openCgroups(s.CgroupProcs)
	if err != nil {
		return err
	}
	if err := s.setOOMScore(); err != nil { // in the node's /proc: this process is not in the container's
		return err
	}
	// The threads of this process share their file system state, and setns requires its own.
	if err := syscall.Unshare(syscall.CLONE_FS); err != nil {
		return wrapError("unsharing file system state", err)
	}
	const namespaces = syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID
	if err := setns(ProcessFD, namespaces); err != nil { // the PID namespace applies to children
		return wrapError("joining the container's namespaces", err)
	}
	id, env, err := s.prepareProgram()
	if err != nil {
		return err
	}
	c, err := s.newCommand(env)
	if err != nil {
		return err
	}
	_ = syscall.Exec("", nil, nil) // fails, but restores the open file limit that package syscall has raised
	if err := s.dropPrivileges(id.uid, id.gid, id.groups); err != nil {
		return err
	}
	if err := resetSignals(); err != nil { // the child inherits the actions; the agent kills the helper with SIGKILL
		return err
	}
	if err := c.start(cgroupFDs); err != nil {
		return err
	}
	code, err := c.wait()
	if err != nil {
		return err
	}
	os.Exit(code)
	return nil
}

// start forks and waits until the command runs. After an error the child has been killed and reaped.
func (c *command) start(cgroupFDs []int) error {
	pid, errno := c.fork()
	_ = syscall.Close(c.childEnd)
	for fd := range 3 { // the command has copies; readers of its output get EOF only after the last writer closes
		_ = syscall.Close(fd)
	}
	if errno != 0 {
		return wrapError("forking", errno)
	}
	c.pid = pid
	err := c.release(cgroupFDs)
	if err != nil {
		c.kill()
		_, _ = c.reap()
	}
	return err
}

// release puts the child into the container's cgroups, so that this program is not charged to
// them, and waits until it has executed the command.
func (c *command) release(cgroupFDs []int) error {
	if _, err := syscall.Write(ReportFD, []byte(PacketProcess+strconv.Itoa(c.pid))); err != nil {
		return wrapError("reporting the process", err)
	}
	for _, fd := range cgroupFDs {
		if _, err := syscall.Write(fd, strconv.AppendInt(nil, int64(c.pid), 10)); err != nil && err != syscall.ESRCH { // killed already
			return wrapError("joining a cgroup", err)
		}
		_ = syscall.Close(fd)
	}
	_, _ = syscall.Write(c.helperEnd, []byte{0}) // fails if the child was killed
	if err := awaitReadable(c.helperEnd); err != nil {
		return err
	}
	status := unsafe.Slice((*byte)(unsafe.Pointer(&c.status[0])), len(c.status)*int(unsafe.Sizeof(c.status[0])))
	if n, _ := syscall.Read(c.helperEnd, status); n > 0 {
		return c.startFailure()
	}
	_ = syscall.Close(c.helperEnd)
	_, err := syscall.Write(ReportFD, []byte(PacketStarted))
	return wrapError("reporting the start", err)
}

// startFailure returns the error that the child has reported in status.
func (c *command) startFailure() error {
	if errno := syscall.Errno(c.status[0]); errno != 0 {
		return wrapError("setting the controlling terminal", errno)
	}
	var errnos []syscall.Errno
	for _, errno := range c.status[1:] {
		if errno == 0 {
			break // not tried
		}
		errnos = append(errnos, syscall.Errno(errno))
	}
	return describeExecErrors(c.program, c.paths, errnos)
}

// wait waits until the command exits and returns its exit code as in shells.
func (c *command) wait() (int, error) {
	fd, err := syscall6(callPidfdOpen, uintptr(c.pid), 0)
	if err == nil {
		err = awaitReadable(fd)
	}
	if err != nil {
		c.kill()
	}
	return c.reap()
}

// reap waits until the child has exited and returns its exit code: 128 plus the signal if one killed it.
func (c *command) reap() (int, error) {
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(c.pid, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, wrapError("waiting for the command", err)
		case status.Signaled():
			return 128 + int(status.Signal()), nil
		default:
			return status.ExitStatus(), nil
		}
	}
}

// kill kills the command and its process group.
func (c *command) kill() {
	_ = syscall.Kill(-c.pid, syscall.SIGKILL)
	_ = syscall.Kill(c.pid, syscall.SIGKILL)
}

// awaitReadable waits until fd is readable or at its end. It fails when the agent has exited or
// given up.
func awaitReadable(fd int) error {
	type pollFD struct {
		fd              int32
		events, revents int16
	}
	const pollIn = 1
	for {
		fds := [2]pollFD{{fd: int32(fd), events: pollIn}, {fd: ReportFD}}
		_, err := syscall6(syscall.SYS_PPOLL, pin(&fds[0]), uintptr(len(fds)), 0, 0, 0)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return wrapError("polling the command", err)
		case fds[1].revents != 0:
			return &startError{"the agent has stopped waiting for the command", 128}
		case fds[0].revents != 0:
			return nil
		}
	}
}
