package shim

import (
	"errors"
	"syscall"
	"time"
	"unsafe"
)

// shim is the state of the process. It has one thread.
type shim struct {
	dir      string
	config   Config
	log      containerLog
	listener int
	child    int // process ID
	childFD  int // its pidfd
	status   syscall.WaitStatus
	streams  [2]stream
	stdin    int // write end of the container's standard input, or -1
	clients  [maxClients]client
	polls    [maxClients + 5]pollFD
	limit    syscall.Timespec // of poll
	files    fileMappings
	input    [bufferSize]byte
	packet   [1 + bufferSize]byte
}

const bufferSize = 32 << 10 // bytes

// run starts the container and serves it until its exit is recorded.
func (s *shim) run() {
	fault, err := s.start()
	if err == errNotClaimed { // not started: there is nothing to report
		unlink(lockName)
		return
	}
	if err != nil {
		fault = "128 " + err.Error()
	}
	if fault != "" {
		_ = WriteExit(s.dir, Exit{Code: 128, Finished: time.Now(), Reason: "StartError", Message: fault[indexByte([]byte(fault), ' ')+1:]})
		_, _ = write(ReportFD, []byte(fault))
		return
	}
	_, _ = write(ReportFD, []byte("ok"))
	closeFile(ReportFD)
	closeFile(SandboxFD)
	s.serve()
	s.writeExitStatus()
}

// start starts the container. fault is the error that the container's init process reports: an exit
// code, a space and a message.
func (s *shim) start() (fault string, err error) {
	if s.config, err = readConfig(s.dir); err != nil {
		return "", err
	}
	if err := reserveExitFile(s.dir); err != nil {
		return "", err
	}
	if err := s.log.open(s.config.Log); err != nil {
		return "", err
	}
	if err := s.listen(); err != nil {
		return "", err
	}
	childFDs, err := s.openStreams()
	if err != nil {
		return "", err
	}
	spec, err := open(InitFile, syscall.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	var report [2]int
	if err := syscall.Pipe2(report[:], syscall.O_CLOEXEC); err != nil {
		return "", err
	}
	if err := s.awaitGo(); err != nil {
		return "", err
	}
	flags := syscall.CLONE_NEWNS | syscall.CLONE_NEWPID
	if s.config.SharedProcesses {
		flags = syscall.CLONE_NEWNS
		// setns moves only the children into the namespace.
		if _, errno := call(callSetns, SandboxFD, syscall.CLONE_NEWPID, 0, 0, 0); errno != 0 {
			return "", &pathError{"joining the sandbox's PID namespace", errno}
		}
	}
	if s.child, err = forkInit([6]int{childFDs[0], childFDs[1], childFDs[2], spec, report[1], SandboxFD}, uintptr(flags)); err != nil {
		return "", err
	}
	fd, errno := call(callPidfdOpen, uintptr(s.child), 0, 0, 0, 0)
	if errno != 0 {
		_ = syscall.Kill(s.child, syscall.SIGKILL)
		return "", &pathError{"pidfd_open", errno}
	}
	s.childFD = fd
	for _, fd := range []int{childFDs[0], childFDs[1], childFDs[2], spec, report[1]} {
		closeFile(fd)
	}
	err = writeFileAtomic(s.dir+"/"+ProcessFile, Processes{syscall.Getpid(), s.child, StartTime(s.child), StartTime(syscall.Getpid()), time.Now()}.text(), false)
	if err != nil {
		_ = syscall.Kill(s.child, syscall.SIGKILL)
		return "", err
	}
	return s.awaitExec(report[0])
}

// errNotClaimed reports that the agent exited or gave up the container before it claimed this
// shim.
var errNotClaimed = errors.New("shim was not claimed")

// lockName is LockFile as a C string.
var lockName = append([]byte(LockFile), 0)

// awaitGo waits until the agent has claimed this shim. The shim then leaves the zygote's process
// group, in which the agent reaps unclaimed shims.
func (s *shim) awaitGo() error {
	n, err := retryEINTR(func() (int, syscall.Errno) { return read(ReportFD, s.input[:1]) })
	if err != nil || n != 1 || s.input[0] != Go {
		return errNotClaimed
	}
	_, _ = syscall.Setsid()
	return nil
}

// awaitExec waits until the container's program runs or its init process reports an error, which it
// returns as fault.
func (s *shim) awaitExec(report int) (fault string, err error) {
	defer closeFile(report)
	var text []byte
	for {
		n, errno := read(report, s.input[:])
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 {
			return "", errno
		}
		if n == 0 {
			break
		}
		text = append(text, s.input[:n]...)
	}
	text = s.saveIdentity(text)
	if len(text) > 0 {
		s.waitChild()
	}
	return string(text), nil
}

// saveIdentity writes the first line of the init process's report to DIR/user, if it is the identity,
// and returns the remaining report. If the disk is full, the container's status has no user.
func (s *shim) saveIdentity(report []byte) []byte {
	end := indexByte(report, '\n')
	if end < 0 || len(report) < len(identityPrefix) || string(report[:len(identityPrefix)]) != identityPrefix {
		return report
	}
	_ = writeFileAtomic(s.dir+"/"+UserFile, report[len(identityPrefix):end], false)
	return report[end+1:]
}

// identityPrefix is containerinit.IdentityPrefix, which this package cannot import.
const identityPrefix = "user "

// writeExitStatus waits for the container and writes DIR/exit.
func (s *shim) writeExitStatus() {
	status := s.waitChild()
	finished := time.Now()
	s.drainStreams()
	code := status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	for range maxExitAttempts {
		if WriteExit(s.dir, Exit{Code: code, Finished: finished}) == nil {
			return
		}
		poll(nil, &s.limit, 100)
	}
	// The agent will treat the shim as killed, so that the container still ends.
}

// waitChild waits until the container exits.
func (s *shim) waitChild() syscall.WaitStatus {
	_, _ = retryEINTR(func() (int, syscall.Errno) {
		return call(syscall.SYS_WAIT4, uintptr(s.child), uintptr(unsafe.Pointer(&s.status)), 0, 0, 0)
	})
	return s.status
}

// maxExitAttempts is the number of attempts to write DIR/exit, ten per second.
const maxExitAttempts = 100

func indexByte(b []byte, c byte) int {
	for i := range b {
		if b[i] == c {
			return i
		}
	}
	return -1
}
