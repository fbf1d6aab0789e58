package shim

import (
	"syscall"
	"unsafe"
)

// Kinds of packets on the control socket, the first byte of each. It is a socket of sequenced packets.
const (
	PacketAttach = 'A' // to the shim: what the container writes from now on is wanted
	PacketReopen = 'R' // to the shim: a new log file; answered with itself, and the error if there was one
	PacketIn     = 'I' // to the shim: bytes for the standard input
	PacketClose  = 'C' // to the shim: the end of them
	PacketResize = 'S' // to the shim: width and height, two bytes each, the lower first
	PacketOut    = 'O' // from the shim: bytes of the standard output, or the terminal
	PacketErr    = 'E' // from the shim: of the standard error
)

// MaxPacket is how many bytes a packet may carry, its kind not counted.
const MaxPacket = bufferSize - 1

const (
	maxClients = 16
	// clientTimeout with who is attached and does not read, in milliseconds.
	clientTimeout = 10_000
)

// client is a connection to the control socket.
type client struct {
	fd       int
	used     bool
	attached bool
	pending  int // bytes of input that the container has not taken yet
	offset   int
	input    []byte
	pollBuf  [1]pollFD
	limit    syscall.Timespec
}

// socketName is Socket as the kernel wants it.
var socketName = append([]byte(Socket), 0)

// listen opens the control socket, in the working directory: its path is short there.
func (s *shim) listen() error {
	unlink(socketName)
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return &pathError{"control socket", err}
	}
	address := &syscall.RawSockaddrUnix{Family: syscall.AF_UNIX}
	for i, c := range socketName {
		address.Path[i] = int8(c)
	}
	_, errno := call(syscall.SYS_BIND, uintptr(fd), uintptr(unsafe.Pointer(address)), 2+uintptr(len(socketName)), 0, 0)
	if errno == 0 {
		_, errno = call(syscall.SYS_LISTEN, uintptr(fd), maxClients, 0, 0, 0)
	}
	if errno != 0 {
		return &pathError{"control socket", errno}
	}
	s.listener = fd
	return nil
}

// accept takes a client. One too many is sent away.
func (s *shim) accept() {
	fd, errno := call(syscall.SYS_ACCEPT4, uintptr(s.listener), 0, 0, syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if errno != 0 {
		return
	}
	for i := range s.clients {
		if c := &s.clients[i]; !c.used {
			*c = client{fd: fd, used: true, input: c.input}
			return
		}
	}
	closeFile(fd)
}

// handlePacket does what a client says.
func (s *shim) handlePacket(c *client) {
	if c.pending > 0 {
		s.forwardInput(c)
		return
	}
	n, errno := read(c.fd, s.input[:])
	if errno == syscall.EAGAIN || errno == syscall.EINTR {
		return
	}
	if n <= 0 {
		s.handleDisconnect(c)
		return
	}
	switch s.input[0] {
	case PacketAttach:
		c.attached = true
	case PacketReopen:
		answer := []byte{PacketReopen}
		if err := s.log.reopen(); err != nil {
			answer = append(answer, err.Error()...)
		}
		c.send(answer)
	case PacketIn:
		if s.stdin >= 0 {
			c.input = append(c.input[:0], s.input[1:n]...)
			c.offset, c.pending = 0, n-1
			s.forwardInput(c)
		}
	case PacketClose:
		s.closeInput()
	case PacketResize:
		if s.config.Terminal && n >= 5 {
			Resize(s.streams[0].fd, uint16(s.input[1])|uint16(s.input[2])<<8, uint16(s.input[3])|uint16(s.input[4])<<8)
		}
	}
}

// forwardInput gives the container what a client sent, as far as it takes it.
func (s *shim) forwardInput(c *client) {
	for c.pending > 0 {
		n, errno := write(s.stdin, c.input[c.offset:c.offset+c.pending])
		switch errno {
		case 0:
			c.offset += n
			c.pending -= n
		case syscall.EINTR:
		case syscall.EAGAIN:
			return
		default: // nobody reads it any more
			c.pending = 0
		}
	}
}

// handleDisconnect takes in that a client has gone.
func (s *shim) handleDisconnect(c *client) {
	if c.attached && s.config.StdinOnce {
		s.closeInput()
	}
	c.close()
}

// closeInput ends the container's standard input, if it is to end: with StdinOnce. A terminal has no end.
func (s *shim) closeInput() {
	if s.stdin >= 0 && s.config.StdinOnce && !s.config.Terminal {
		closeFile(s.stdin)
		s.stdin = -1
		for i := range s.clients {
			s.clients[i].pending = 0
		}
	}
}

func (c *client) close() {
	if c.used {
		closeFile(c.fd)
		*c = client{input: c.input[:0]}
	}
}

// send sends a packet. Who does not read for too long is let go.
func (c *client) send(packet []byte) {
	for waited := false; ; waited = true {
		_, errno := call(syscall.SYS_SENDTO, uintptr(c.fd), uintptr(unsafe.Pointer(unsafe.SliceData(packet))), uintptr(len(packet)), syscall.MSG_NOSIGNAL, 0)
		switch {
		case errno == 0:
			return
		case errno == syscall.EINTR:
			continue
		case errno != syscall.EAGAIN || waited:
			c.close()
			return
		}
		c.pollBuf[0] = pollFD{fd: int32(c.fd), events: pollOut}
		poll(c.pollBuf[:], &c.limit, clientTimeout)
	}
}
