package shim

import (
	"syscall"
	"unsafe"
)

// Packet types of the control socket (SOCK_SEQPACKET). The type is the first byte.
const (
	PacketAttach = 'A' // to the shim: send the container's output from now on
	PacketReopen = 'R' // to the shim: reopen the log; answered with the type and an error, if any
	PacketIn     = 'I' // to the shim: standard input
	PacketClose  = 'C' // to the shim: end of the standard input
	PacketResize = 'S' // to the shim: width and height, two bytes each, little-endian
	PacketOut    = 'O' // from the shim: standard output or terminal output
	PacketErr    = 'E' // from the shim: standard error
)

// MaxPacket is the maximum payload of a packet to the shim in bytes.
const MaxPacket = bufferSize - 1

const (
	maxClients = 16
	// clientTimeout bounds the wait for an attached client that does not read, in milliseconds.
	clientTimeout = 10_000
)

// client is a connection to the control socket.
type client struct {
	fd       int
	used     bool
	attached bool
	pending  int // bytes of input that the container has not read yet
	offset   int // of the pending bytes in input
	input    []byte
	pollBuf  [1]pollFD
	limit    syscall.Timespec
}

// socketName is Socket as a C string.
var socketName = append([]byte(Socket), 0)

// listen opens the control socket in the working directory, where its path is short.
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

// accept accepts a client. It closes the connection if there are maxClients others.
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

// handlePacket handles the next packet of a client. If the client has pending input, it forwards
// that input instead.
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
		reply := []byte{PacketReopen}
		if err := s.log.reopen(); err != nil {
			reply = append(reply, err.Error()...)
		}
		c.send(reply)
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

// forwardInput writes a client's input to the container without blocking.
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
		default: // the container has closed its input
			c.pending = 0
		}
	}
}

// handleDisconnect processes the end of a connection.
func (s *shim) handleDisconnect(c *client) {
	if c.attached && s.config.StdinOnce {
		s.closeInput()
	}
	c.close()
}

// closeInput closes the container's standard input if StdinOnce is set. A terminal is not closed.
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

// send sends a packet. It disconnects a client that does not read within clientTimeout.
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
