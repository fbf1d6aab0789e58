package shim

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// RequestFD is where the original is asked for copies, a socket of sequenced packets. A request is the container's directory and
// the file descriptors of Handed; the answer is the copy's process id, in decimal, or words. It ends when
// the socket's other end is closed.
const RequestFD = 3

// Handed are the files that a request hands over, in this order.
const (
	PassedStderr  = iota // for the shim's standard error
	PassedReport         // ReportFD
	PassedSandbox        // SandboxFD
	PassedLock           // LockFD
	numPassed
)

// ArgumentSize is how long the original's only argument must be: it is for the copies' own, a container's directory.
const ArgumentSize = 1024

func init() {
	if len(os.Args) != 2 || os.Args[0] != Name {
		return
	}
	o := &zygote{shim: &shim{listener: -1, stdin: -1}}
	setProcessName("berth-shims")
	go func() { // the one that is here belongs to its thread, and could be preempted only in favour of another
		o.run()
		quit(0)
	}()
	select {}
}

// zygote is what shims are copied from. A process that executes this program has all that its packages' beginnings touch in memory; a copy of
// one that has given that back has but what it uses itself.
type zygote struct {
	shim    *shim // of the next copy
	message syscall.Msghdr
	text    syscall.Iovec
	dir     [4096]byte
	control [256]byte // of message
	answer  [64]byte
}

func (o *zygote) run() {
	syscall.CloseOnExec(RequestFD)
	_ = syscall.Exec("", nil, nil) // fails, but sets the limit of open files back, which package syscall has raised: copies hand it on (see execute)
	o.shim.files.dropPages(o.shim.input[:])
	for {
		dir, files, ok := o.receiveRequest()
		if !ok {
			return
		}
		pid, errno := o.fork(dir, files)
		for _, fd := range files {
			closeFile(fd)
		}
		answer := strconv.AppendInt(o.answer[:0], int64(pid), 10)
		if errno != 0 {
			answer = append(o.answer[:0], errno.Error()...)
		}
		if _, errno := write(RequestFD, answer); errno != 0 {
			return
		}
	}
}

// receiveRequest waits for one; ok is false when there will be none.
func (o *zygote) receiveRequest() (dir string, files []int, ok bool) {
	o.text = syscall.Iovec{Base: &o.dir[0], Len: uint64(len(o.dir))}
	for {
		o.message = syscall.Msghdr{Iov: &o.text, Iovlen: 1, Control: &o.control[0], Controllen: uint64(len(o.control))}
		n, errno := call(syscall.SYS_RECVMSG, RequestFD, uintptr(unsafe.Pointer(&o.message)), syscall.MSG_CMSG_CLOEXEC, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if n <= 0 {
			return "", nil, false
		}
		messages, err := syscall.ParseSocketControlMessage(o.control[:o.message.Controllen])
		if err != nil || len(messages) != 1 {
			return "", nil, false
		}
		files, err = syscall.ParseUnixRights(&messages[0])
		return string(o.dir[:n]), files, err == nil && len(files) == numPassed
	}
}

// fork makes a shim, a child of the original's parent.
//
// Go's runtime knows nothing of it: in the copy are the locks of its scheduler, but not the threads. It goes well since
//
//   - one goroutine runs at a time (GOMAXPROCS=1), and that is this one: no other thread is in the heap, nor is
//     garbage collected;
//   - the copy's system calls do not tell the scheduler (alone), and it has no timers, files of package os or other goroutines;
//   - the runtime's monitor may hold the scheduler's lock in this moment, or may have asked this goroutine to let
//     others run, which the copy then does, finds none and goes on: but not both, as it takes that lock when nothing runs, and asks
//     when something has run for 10 ms. What it had asked for before is done with by Gosched;
//   - a thread may just be being made for the scheduler, which locks package syscall's Exec out until it is, in the copy for ever:
//     nobody there calls Exec (see execute).
func (o *zygote) fork(dir string, files []int) (int, syscall.Errno) {
	runtime.Gosched()
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, syscall.CLONE_PARENT|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return int(pid), errno
	}
	forked = true
	o.runShim(dir, files)
	return 0, 0 // never: it has ended
}

// runShim is a copy's life.
func (o *zygote) runShim(dir string, files []int) {
	setProcessName(Name)
	setArgument(dir)
	err := renumberFiles(files, []int{2, ReportFD, SandboxFD, LockFD})
	if err == nil {
		err = chdir(dir)
	}
	if err != nil {
		_, _ = write(2, []byte(err.Error()+"\n"))
		quit(1)
	}
	o.shim.dir = dir
	o.shim.run()
	quit(0)
}

// setArgument makes it the process's, for who reads /proc/ID/cmdline.
func setArgument(dir string) {
	own := unsafe.Slice(unsafe.StringData(os.Args[1]), len(os.Args[1])) // the kernel's copy of it, which may be written to
	n := copy(own, dir)
	clear(own[n:])
	end := uintptr(unsafe.Pointer(&own[0])) + uintptr(n) + 1
	_, _ = call(syscall.SYS_PRCTL, prSetMM, prSetMMArgEnd, end, 0, 0) // not everybody may; then blanks follow
}

// renumberFiles gives files the numbers that they are known by. The numbers of files are higher than any of these, or their own.
func renumberFiles(files, numbers []int) error {
	const safe = 16
	for i, fd := range files {
		n, errno := call(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, safe, 0, 0)
		if errno != 0 {
			return errno
		}
		closeFile(fd)
		files[i] = n
	}
	for i, fd := range files {
		if _, errno := call(syscall.SYS_DUP3, uintptr(fd), uintptr(numbers[i]), syscall.O_CLOEXEC, 0, 0); errno != 0 {
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

// setProcessName gives the process the name that ps shows.
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
