package shim

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

func init() {
	if len(os.Args) != 2 || os.Args[0] != Name {
		return
	}
	s := &shim{dir: os.Args[1], listener: -1, stdin: -1}
	s.run()
	os.Exit(0)
}

// shim is the process. All is done by its one thread that runs Go.
type shim struct {
	dir      string
	config   Config
	log      log
	listener int
	child    int // process id
	childFD  int // its pidfd
	streams  [2]stream
	stdin    int // what the container's standard input is written to, -1 when there is none
	clients  [maxClients]client
	polls    [maxClients + 5]pollFD
	found    [64][2]uintptr // mappings of the program's file
	ranges   [][2]uintptr   // those of found that there are
	in       [bufferSize]byte
	packet   [1 + bufferSize]byte
}

const bufferSize = 32 << 10

// callPidfdOpen is of equal number on all architectures.
const callPidfdOpen = 434

func (s *shim) run() {
	for _, fd := range []int{ReportFD, SandboxFD, LockFD} {
		syscall.CloseOnExec(fd)
	}
	name, _ := syscall.BytePtrFromString(Name)
	const prSetName = 15
	_, _, _ = syscall.Syscall(syscall.SYS_PRCTL, prSetName, uintptr(unsafe.Pointer(name)), 0)
	fault, err := s.start()
	if err != nil {
		fault = "128 " + err.Error()
	}
	if fault != "" {
		_ = WriteExit(s.dir, Exit{Code: 128, Finished: time.Now(), Reason: "StartError", Message: fault[indexByte([]byte(fault), ' ')+1:]})
		_, _ = syscall.Write(ReportFD, []byte(fault))
		return
	}
	_, _ = syscall.Write(ReportFD, []byte("ok"))
	_ = syscall.Close(ReportFD)
	_ = syscall.Close(SandboxFD)
	s.shed()
	s.loop()
	s.finish()
}

// start starts the container. Where that went wrong in the container the fault is not "".
func (s *shim) start() (fault string, err error) {
	if s.config, err = readConfig(s.dir); err != nil {
		return "", err
	}
	if err := reserve(s.dir); err != nil {
		return "", err
	}
	if err := s.log.open(s.config.Log); err != nil {
		return "", err
	}
	if err := s.listen(); err != nil {
		return "", err
	}
	theirs, err := s.open()
	if err != nil {
		return "", err
	}
	spec, err := syscall.Open(InitFile, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	var report [2]int
	if err := syscall.Pipe2(report[:], syscall.O_CLOEXEC); err != nil {
		return "", err
	}
	attr := &syscall.ProcAttr{Files: []uintptr{uintptr(theirs[0]), uintptr(theirs[1]), uintptr(theirs[2]), uintptr(spec), uintptr(report[1]), SandboxFD},
		Sys: &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}}
	if s.config.SharedProcesses {
		attr.Sys.Cloneflags = syscall.CLONE_NEWNS
		// The thread's children are made there.
		if _, _, errno := syscall.Syscall(callSetns, SandboxFD, syscall.CLONE_NEWPID, 0); errno != 0 {
			return "", os.NewSyscallError("joining the sandbox's process namespace", errno)
		}
	}
	if s.child, err = syscall.ForkExec("/proc/self/exe", []string{InitName}, attr); err != nil {
		return "", err
	}
	fd, _, errno := syscall.Syscall(callPidfdOpen, uintptr(s.child), 0, 0)
	if errno != 0 {
		return "", os.NewSyscallError("pidfd_open", errno)
	}
	s.childFD = int(fd)
	for _, fd := range append(theirs[:], spec, report[1]) {
		_ = syscall.Close(fd)
	}
	err = replace(ProcessFile, Processes{os.Getpid(), s.child, StartOf(s.child), StartOf(os.Getpid()), time.Now()}.text(), false)
	if err != nil {
		_ = syscall.Kill(s.child, syscall.SIGKILL)
		return "", err
	}
	return s.heard(report[0])
}

// heard waits until the container's program runs, or what went wrong is told.
func (s *shim) heard(report int) (fault string, err error) {
	defer syscall.Close(report)
	var text []byte
	for {
		n, err := syscall.Read(report, s.in[:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return "", err
		}
		if n == 0 {
			break
		}
		text = append(text, s.in[:n]...)
	}
	if len(text) > 0 {
		var status syscall.WaitStatus
		_, _ = syscall.Wait4(s.child, &status, 0, nil)
	}
	return string(text), nil
}

// finish writes how the container ended.
func (s *shim) finish() {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(s.child, &status, 0, nil)
		if err != syscall.EINTR {
			break
		}
	}
	finished := time.Now()
	s.drain()
	code := status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	for range mostTries {
		if WriteExit(s.dir, Exit{Code: code, Finished: finished}) == nil {
			return
		}
		_ = syscall.Nanosleep(&syscall.Timespec{Nsec: 100e6}, nil) // no timer: that might need a thread, which cannot be made beside another process namespace
	}
	// The agent takes it for one that was killed: better than a container that never ends.
}

// mostTries is how often DIR/exit is tried to be written, ten times a second.
const mostTries = 100

func indexByte(b []byte, c byte) int {
	for i := range b {
		if b[i] == c {
			return i
		}
	}
	return -1
}
