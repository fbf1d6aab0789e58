package shim

import (
	"syscall"
	"time"
)

// maxLine is how much of a line is kept before it is written in parts: containerd's default.
const maxLine = 16 << 10

// log is a container's log: lines "TIME stdout F text" and, of longer ones, "P" parts.
type log struct {
	path string
	fd   int
	out  []byte // one write
}

func (l *log) open(path string) error {
	l.path, l.fd = path, -1
	if path == "" {
		return nil
	}
	fd, err := open(path, syscall.O_WRONLY|syscall.O_APPEND|syscall.O_CREAT, 0o640)
	if err != nil {
		return &pathError{"log " + path, err}
	}
	l.fd = fd
	return nil
}

// reopen goes on in a new file of the same path; where that cannot be, in the old one.
func (l *log) reopen() error {
	old := l.fd
	if err := l.open(l.path); err != nil {
		l.fd = old
		return err
	}
	closeFile(old)
	return nil
}

type pathError struct {
	what string
	err  error
}

func (e *pathError) Error() string { return e.what + ": " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

// stream is one of the container's outputs.
type stream struct {
	name string
	kind byte // of packets to who is attached
	fd   int  // -1 when it has ended
	line [maxLine]byte
	held int // bytes of a line that has not ended
}

// take writes what the container wrote: whole lines, and parts of long ones.
func (l *log) take(s *stream, text []byte) {
	if l.fd < 0 {
		return
	}
	l.out = l.out[:0]
	now := time.Now().UTC()
	for len(text) > 0 {
		end := indexByte(text, '\n')
		room := maxLine - s.held
		switch {
		case end >= 0 && end <= room:
			s.held += copy(s.line[s.held:], text[:end])
			l.add(now, s, 'F')
			text = text[end+1:]
		case len(text) >= room:
			s.held += copy(s.line[s.held:], text[:room])
			l.add(now, s, 'P')
			text = text[room:]
		default:
			s.held += copy(s.line[s.held:], text)
			text = nil
		}
	}
	l.write()
}

// end writes what is held of a line that will not end.
func (l *log) end(s *stream) {
	if s.held > 0 && l.fd >= 0 {
		l.out = l.out[:0]
		l.add(time.Now().UTC(), s, 'F')
		l.write()
	}
}

func (l *log) add(now time.Time, s *stream, tag byte) {
	l.out = now.AppendFormat(l.out, time.RFC3339Nano)
	l.out = append(append(l.out, ' '), s.name...)
	l.out = append(l.out, ' ', tag, ' ')
	l.out = append(append(l.out, s.line[:s.held]...), '\n')
	s.held = 0
	if len(l.out) > 2*bufferSize {
		l.write()
	}
}

// write writes what is collected. A full disk loses lines, not the container.
func (l *log) write() {
	_ = writeAll(l.fd, l.out)
	l.out = l.out[:0]
}
