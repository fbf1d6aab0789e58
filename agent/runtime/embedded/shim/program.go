package shim

import (
	"strconv"
	"syscall"
	"unsafe"
)

// Program is a request to the zygote to execute this program under another name, as a child of the zygote's parent. The
// parent itself does not fork. While a thread waits for a fork or for the child's execve, Go's garbage collector
// cannot stop it. A process that forks all the time would delay garbage collections for seconds.
type Program struct {
	Flags uintptr  // namespaces of clone(2)
	Args  []string // at most maxArgs; the first is the name
}

// NumProgramFiles is the number of files that a Program needs. They become its file descriptors from 0.
const NumProgramFiles = 6

const (
	// programReport is the file to which a Program reports errors: containerinit.ReportFD, which this package cannot import.
	programReport = 4

	// programPrefix distinguishes the request from one for a shim, which is a directory.
	programPrefix = 'P'
	maxArgs       = 7
)

// Text returns the text of the request.
func (p Program) Text() string {
	text := string(rune(programPrefix)) + strconv.FormatUint(uint64(p.Flags), 10) + "\x00"
	for _, arg := range p.Args {
		text += arg + "\x00"
	}
	return text
}

// forkProgram starts the Program whose request has n bytes.
func (z *zygote) forkProgram(n int, files []int) (int, syscall.Errno) {
	flags, ok := z.parseProgram(n)
	if !ok || len(files) != NumProgramFiles {
		return -1, syscall.EINVAL
	}
	// As in fork, but the child executes at once.
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, syscall.CLONE_PARENT|flags|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return int(pid), errno
	}
	forked = true
	z.runProgram(files)
	return 0, 0 // not reached
}

// parseProgram sets z.args, which point into the buffer of the request, and returns the flags.
func (z *zygote) parseProgram(n int) (flags uintptr, ok bool) {
	text, count := z.text[:n], 0
	end := indexByte(text, 0)
	if end < 1 || text[n-1] != 0 {
		return 0, false
	}
	for _, digit := range text[1:end] {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		flags = flags*10 + uintptr(digit-'0')
	}
	for text = text[end+1:]; len(text) > 0; text = text[indexByte(text, 0)+1:] {
		if count == maxArgs {
			return 0, false
		}
		z.args[count] = &text[0]
		count++
	}
	z.args[count] = nil
	return flags, count > 0
}

// runProgram executes the program.
func (z *zygote) runProgram(files []int) {
	_, _ = syscall.Setsid()
	_ = prctl(prSetTHPDisable, 0)
	err := renumberFiles(files, []int{0, 1, 2, 3, programReport, 5}, 0)
	if err == nil {
		_, err = call(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(&exePath[0])), uintptr(unsafe.Pointer(&z.args)), uintptr(unsafe.Pointer(&initEnv)), 0, 0)
	}
	_, _ = write(programReport, []byte("128 execve: "+err.Error()))
	quit(1)
}
