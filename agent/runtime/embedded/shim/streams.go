package shim

import (
	"strconv"
	"syscall"
	"unsafe"
)

// pollFD is struct pollfd.
type pollFD struct {
	fd      int32
	events  int16
	revents int16
}

const (
	pollIn  = 0x1
	pollOut = 0x4
)

// poll waits until a file is ready or ms milliseconds have passed; -1 waits forever. It returns
// the number of ready files, or -1 after an error. limit is a buffer outside of the stack.
func poll(fds []pollFD, limit *syscall.Timespec, ms int) int {
	if ms >= 0 {
		*limit = syscall.NsecToTimespec(int64(ms) * 1e6)
	} else {
		limit = nil
	}
	n, errno := call(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(fds))), uintptr(len(fds)), uintptr(unsafe.Pointer(limit)), 0, 0)
	if errno != 0 {
		for i := range fds {
			fds[i].revents = 0
		}
		return -1
	}
	return n
}

// openStreams opens the container's standard streams and returns the container's ends.
func (s *shim) openStreams() (childFDs [3]int, err error) {
	s.streams = [2]stream{{name: "stdout", kind: PacketOut, fd: -1}, {name: "stderr", kind: PacketErr, fd: -1}}
	if s.config.Terminal {
		master, slave, err := OpenTerminal()
		if err != nil {
			return childFDs, err
		}
		s.streams[0].fd = master
		if s.config.Stdin {
			s.stdin = master
		}
		return [3]int{slave, slave, slave}, setNonblock(master)
	}
	for i := range s.streams {
		var p [2]int
		if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
			return childFDs, err
		}
		s.streams[i].fd, childFDs[i+1] = p[0], p[1]
		if err := setNonblock(p[0]); err != nil {
			return childFDs, err
		}
	}
	if !s.config.Stdin {
		childFDs[0], err = open("/dev/null", syscall.O_RDONLY, 0)
		return childFDs, err
	}
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		return childFDs, err
	}
	childFDs[0], s.stdin = p[0], p[1]
	return childFDs, setNonblock(p[1])
}

// OpenTerminal opens a pseudoterminal.
func OpenTerminal() (master, slave int, err error) {
	master, err = open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return -1, -1, &pathError{"/dev/ptmx", err}
	}
	unlock, number := int32(0), int32(0)
	for _, c := range []struct {
		request uintptr
		value   *int32
	}{{syscall.TIOCSPTLCK, &unlock}, {syscall.TIOCGPTN, &number}} {
		if _, errno := call(syscall.SYS_IOCTL, uintptr(master), c.request, uintptr(unsafe.Pointer(c.value)), 0, 0); errno != 0 {
			closeFile(master)
			return -1, -1, &pathError{"terminal", errno}
		}
	}
	slave, err = open("/dev/pts/"+strconv.Itoa(int(number)), syscall.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		closeFile(master)
	}
	return master, slave, err
}

// Resize sets the size of a terminal.
func Resize(fd int, width, height uint16) {
	size := [4]uint16{height, width}
	_, _ = call(syscall.SYS_IOCTL, uintptr(fd), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size)), 0, 0)
}

// idleTimeout is the time in milliseconds after which an idle shim drops its pages.
const idleTimeout = 2000

// serve forwards streams until the container's init process exits.
func (s *shim) serve() {
	timeout := idleTimeout
	for {
		polls := s.polls[:0]
		polls = append(polls, pollFD{fd: int32(s.childFD), events: pollIn}, pollFD{fd: int32(s.listener), events: pollIn},
			pollFD{fd: int32(s.streams[0].fd), events: pollIn}, pollFD{fd: int32(s.streams[1].fd), events: pollIn})
		stdin := pollFD{fd: -1, events: pollOut}
		for i := range s.clients {
			c := &s.clients[i]
			p := pollFD{fd: -1}
			if c.used {
				p.fd, p.events = int32(c.fd), pollIn
				if c.pending > 0 { // wait, even after a disconnect, until the container has read the input
					p.fd, stdin.fd = -1, int32(s.stdin)
				}
			}
			polls = append(polls, p)
		}
		polls = append(polls, stdin)
		if poll(polls, &s.limit, timeout) == 0 {
			s.files.dropRanges()
			timeout = -1
			continue
		}
		timeout = idleTimeout
		for i := range s.streams {
			if polls[2+i].revents != 0 {
				s.forwardOutput(&s.streams[i])
			}
		}
		for i := range s.clients {
			if c := &s.clients[i]; c.used && (polls[4+i].revents != 0 || c.pending > 0) {
				s.handlePacket(c)
			}
		}
		if polls[1].revents != 0 {
			s.accept()
		}
		if polls[0].revents != 0 {
			return
		}
	}
}

// forwardOutput forwards available output and reports whether the caller should read again.
func (s *shim) forwardOutput(o *stream) bool {
	if o.fd < 0 {
		return false
	}
	n, errno := read(o.fd, s.packet[1:])
	switch {
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
		return errno == syscall.EINTR
	case n <= 0: // a terminal without users returns EIO
		s.log.flushLine(o)
		if o.fd != s.stdin {
			closeFile(o.fd)
		}
		o.fd = -1
		return false
	}
	s.log.append(o, s.packet[1:1+n])
	s.packet[0] = o.kind
	for i := range s.clients {
		if c := &s.clients[i]; c.used && c.attached {
			c.send(s.packet[:1+n])
		}
	}
	return true
}

// maxDrainReads bounds the reads after the exit; a pipe or terminal holds less. Another process
// may keep writing.
const maxDrainReads = 256

// drainStreams forwards the remaining output after the container's exit.
func (s *shim) drainStreams() {
	for i := range s.streams {
		for n := 0; n < maxDrainReads && s.forwardOutput(&s.streams[i]); n++ {
		}
		if s.streams[i].fd >= 0 { // another process has the stream open
			s.log.flushLine(&s.streams[i])
		}
	}
	for i := range s.clients {
		s.clients[i].close()
	}
}
