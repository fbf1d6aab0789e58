package shim

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// RequestFD is a SOCK_SEQPACKET socket on which the zygote receives requests. A request is a container's absolute
// directory with the files PassedStderr to PassedLock, or a Program. The reply is the process ID in decimal, or an
// error message. The zygote exits when the socket is closed.
const RequestFD = 3

// The files of a request, in this order.
const (
	PassedStderr  = iota // the shim's standard error
	PassedReport         // ReportFD
	PassedSandbox        // SandboxFD
	PassedLock           // LockFD
	numPassed
)

// ArgumentSize is the required length of the zygote's argument, which its forks overwrite with a
// container's directory.
const ArgumentSize = 1024

func init() {
	if len(os.Args) != 2 || os.Args[0] != Name {
		return
	}
	z := &zygote{shim: &shim{listener: -1, stdin: -1}}
	setProcessName("berth-shims")
	// The goroutine of init is locked to its thread: yielding in it would require another thread.
	go func() {
		z.run()
		quit(0)
	}()
	select {}
}

// zygote is the process that shims are forked from. Executing this program touches many pages
// during initialization; a fork of a process that has dropped them has only the pages it uses.
type zygote struct {
	shim    *shim // state of the next fork
	message syscall.Msghdr
	vector  syscall.Iovec
	text    [4096]byte // text of the request
	args    [maxArgs + 1]*byte
	control [256]byte
	reply   [64]byte
}

func (z *zygote) run() {
	syscall.CloseOnExec(RequestFD)
	// Exec fails, but restores the open file limit that package syscall has raised. Forks inherit it
	// (see execInit).
	_ = syscall.Exec("", nil, nil)
	z.shim.files.dropPages(z.shim.input[:])
	for {
		n, files, ok := z.receiveRequest()
		if !ok {
			return
		}
		pid, errno := z.start(n, files)
		for _, fd := range files {
			closeFile(fd)
		}
		reply := strconv.AppendInt(z.reply[:0], int64(pid), 10)
		if errno != 0 {
			reply = append(z.reply[:0], errno.Error()...)
		}
		if _, errno := write(RequestFD, reply); errno != 0 {
			return
		}
	}
}

// start performs the request whose text has n bytes.
func (z *zygote) start(n int, files []int) (int, syscall.Errno) {
	switch {
	case z.text[0] == programPrefix:
		return z.forkProgram(n, files)
	case len(files) == numPassed:
		return z.fork(string(z.text[:n]), files)
	}
	return -1, syscall.EINVAL
}

// receiveRequest waits for a request and returns the length of its text and its files. ok is false if the socket is
// closed or the request's control message is invalid.
func (z *zygote) receiveRequest() (n int, files []int, ok bool) {
	z.vector = syscall.Iovec{Base: &z.text[0], Len: uint64(len(z.text))}
	for {
		z.message = syscall.Msghdr{Iov: &z.vector, Iovlen: 1, Control: &z.control[0], Controllen: uint64(len(z.control))}
		n, errno := call(syscall.SYS_RECVMSG, RequestFD, uintptr(unsafe.Pointer(&z.message)), syscall.MSG_CMSG_CLOEXEC, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if n <= 0 {
			return 0, nil, false
		}
		messages, err := syscall.ParseSocketControlMessage(z.control[:z.message.Controllen])
		if err != nil || len(messages) != 1 {
			return 0, nil, false
		}
		files, err = syscall.ParseUnixRights(&messages[0])
		return n, files, err == nil
	}
}

// fork creates a shim as a child of the zygote's parent.
//
// Go's runtime does not support this: the fork has the locks of the scheduler, but not its
// threads. It works for these reasons:
//
//   - Only one goroutine runs at a time (GOMAXPROCS=1), and it is this one. No other thread uses
//     the heap, and the garbage collector is off.
//   - System calls of the fork bypass the scheduler (forked), and it has no timers, os.Files or
//     other goroutines.
//   - The runtime's monitor may hold the scheduler's lock at this moment, or may have requested
//     preemption. The fork would then yield, find no other goroutine and continue. Both cannot
//     happen: the monitor takes that lock when nothing runs, and requests preemption after 10 ms
//     of running. Gosched completes earlier requests.
//   - A thread that is just being created holds a lock that syscall.Exec needs. The fork never
//     calls syscall.Exec (see execInit).
func (z *zygote) fork(dir string, files []int) (int, syscall.Errno) {
	runtime.Gosched()
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, syscall.CLONE_PARENT|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return int(pid), errno
	}
	forked = true
	z.runShim(dir, files)
	return 0, 0 // not reached
}

// runShim is the main function of a fork.
func (z *zygote) runShim(dir string, files []int) {
	setProcessName(Name)
	setArgument(dir)
	err := renumberFiles(files, []int{2, ReportFD, SandboxFD, LockFD}, syscall.O_CLOEXEC)
	if err == nil {
		err = chdir(dir)
	}
	if err != nil {
		_, _ = write(2, []byte(err.Error()+"\n"))
		quit(1)
	}
	z.shim.dir = dir
	z.shim.run()
	quit(0)
}

// setArgument sets the process's argument in /proc/PID/cmdline.
func setArgument(dir string) {
	argument := unsafe.Slice(unsafe.StringData(os.Args[1]), len(os.Args[1])) // the kernel's copy, which is writable
	n := copy(argument, dir)
	clear(argument[n:])
	end := uintptr(unsafe.Pointer(&argument[0])) + uintptr(n) + 1
	_, _ = call(syscall.SYS_PRCTL, prSetMM, prSetMMArgEnd, end, 0, 0) // requires privileges; without them zeros follow
}

// renumberFiles gives files the numbers, and the flag O_CLOEXEC or 0. It duplicates all files to high numbers first, so
// that no file overwrites another one.
func renumberFiles(files, numbers []int, flags uintptr) error {
	const minTemporaryFD = 16
	for i, fd := range files {
		n, errno := call(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, minTemporaryFD, 0, 0)
		if errno != 0 {
			return errno
		}
		closeFile(fd)
		files[i] = n
	}
	for i, fd := range files {
		if _, errno := call(syscall.SYS_DUP3, uintptr(fd), uintptr(numbers[i]), flags, 0, 0); errno != 0 {
			return errno
		}
		closeFile(fd)
	}
	return nil
}

func chdir(dir string) error {
	name, err := syscall.BytePtrFromString(dir)
	if err != nil {
		return err
	}
	if _, errno := call(syscall.SYS_CHDIR, uintptr(unsafe.Pointer(name)), 0, 0, 0, 0); errno != 0 {
		return &pathError{dir, errno}
	}
	return nil
}

// setProcessName sets the name that ps shows.
func setProcessName(name string) {
	if text, err := syscall.BytePtrFromString(name); err == nil {
		_, _ = call(syscall.SYS_PRCTL, prSetName, uintptr(unsafe.Pointer(text)), 0, 0, 0)
	}
}

func quit(code int) {
	for {
		_, _ = call(syscall.SYS_EXIT_GROUP, uintptr(code), 0, 0, 0, 0)
	}
}
