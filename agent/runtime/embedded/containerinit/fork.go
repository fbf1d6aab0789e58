package containerinit

import "syscall"

// command is a command and what its child process needs to execute it without allocations.
type command struct {
	program string
	paths   []string // candidate paths of the program
	pid     int      // in the agent's PID namespace

	helperEnd, childEnd int     // socket pair: a byte lets the child continue; it closes its end by executing the command
	names               []*byte // paths as C strings
	argv, envv          []*byte
	terminal            bool
	input               [1]byte // from the helper
	// status is what the child sends if it cannot execute the command: the error of setting its
	// terminal, then those of the paths.
	status []uint32
}

// newCommand prepares the command of the Spec, so that its child needs no allocations.
func (s *Spec) newCommand(env []string) (*command, error) {
	c := &command{program: s.Args[0], paths: programPaths(s.Args[0], env), terminal: s.Terminal}
	var err error
	if c.argv, err = syscall.SlicePtrFromStrings(s.Args); err != nil {
		return nil, wrapError("converting the arguments", err)
	}
	if c.envv, err = syscall.SlicePtrFromStrings(env); err != nil {
		return nil, wrapError("converting the environment", err)
	}
	for _, path := range c.paths {
		name, err := syscall.BytePtrFromString(path)
		if err != nil {
			return nil, wrapError("converting command path "+path, err)
		}
		c.names = append(c.names, name)
	}
	c.status = make([]uint32, 1+len(c.paths))
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, wrapError("creating a socket pair", err)
	}
	c.helperEnd, c.childEnd = pair[0], pair[1]
	return c, nil
}

// childSocket is the child's only file besides its standard streams.
const childSocket = SpecFD

// fork creates the child, in the PID namespace that setns has set for children. It copies the memory of this process
// instead of sharing it, so that a tracer in the container cannot change the helper.
//
// The copy has one thread and may wait forever for locks that other threads hold. So after clone it uses
// raw system calls only, which neither allocate nor grow the stack.
//
//go:noinline
//go:norace
func (c *command) fork() (int, syscall.Errno) {
	socket, input, status := uintptr(c.childEnd), pin(&c.input), pin(&c.status[0])
	argv, envv := pin(&c.argv[0]), pin(&c.envv[0])
	names := make([]uintptr, len(c.names))
	for i, name := range c.names {
		names[i] = pin(name)
	}
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return int(pid), errno
	}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, prSetPdeathsig, uintptr(syscall.SIGKILL), 0, 0, 0, 0)
	_, _, _ = syscall.RawSyscall(syscall.SYS_DUP3, socket, childSocket, syscall.O_CLOEXEC)
	_, _, _ = syscall.RawSyscall(callCloseRange, childSocket+1, 1<<32-1, 0)
	_, _, _ = syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
	n, _, _ := syscall.RawSyscall(syscall.SYS_READ, childSocket, input, 1)
	if n == 1 { // otherwise the helper has exited
		if c.terminal {
			_, _, errno = syscall.RawSyscall(syscall.SYS_IOCTL, 0, syscall.TIOCSCTTY, 0)
			c.status[0] = uint32(errno)
		}
		for i := 0; i < len(names) && c.status[0] == 0; i++ {
			_, _, errno = syscall.RawSyscall(syscall.SYS_EXECVE, names[i], argv, envv)
			c.status[i+1] = uint32(errno)
			if errno == syscall.ENOEXEC {
				break
			}
		}
		_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, childSocket, status, uintptr(len(c.status))*4)
	}
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 1, 0, 0)
	}
}
