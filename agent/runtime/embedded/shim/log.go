package shim

import (
	"syscall"
	"time"
)

// maxLine is the maximum length of a log line before it is split: containerd's default.
const maxLine = 16 << 10

// containerLog is a container's log in CRI's format: lines "TIME stdout F text". Parts of a long line,
// and a last line without a line break, have the tag P instead of F.
type containerLog struct {
	path   string
	fd     int
	buffer []byte // of one write
}

func (l *containerLog) open(path string) error {
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

// reopen opens the log file at its path. After an error it keeps the old file.
func (l *containerLog) reopen() error {
	old := l.fd
	if err := l.open(l.path); err != nil {
		l.fd = old
		return err
	}
	closeFile(old)
	return nil
}

// pathError is an error with its operation, path or both.
type pathError struct {
	op  string
	err error
}

func (e *pathError) Error() string { return e.op + ": " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

// stream is an output stream of the container.
type stream struct {
	name   string
	kind   byte // packet type
	fd     int  // -1 after its end
	line   [maxLine]byte
	length int // bytes of an incomplete line
}

// append writes output: complete lines and parts of long lines.
func (l *containerLog) append(s *stream, text []byte) {
	if l.fd < 0 {
		return
	}
	l.buffer = l.buffer[:0]
	now := time.Now().UTC()
	for len(text) > 0 {
		end := indexByte(text, '\n')
		room := maxLine - s.length
		switch {
		case end >= 0 && end <= room:
			s.length += copy(s.line[s.length:], text[:end])
			l.appendLine(now, s, 'F')
			text = text[end+1:]
		case len(text) >= room:
			s.length += copy(s.line[s.length:], text[:room])
			l.appendLine(now, s, 'P')
			text = text[room:]
		default:
			s.length += copy(s.line[s.length:], text)
			text = nil
		}
	}
	l.flush()
}

// flushLine writes an incomplete last line. It is a part, so that readers do not add a line break.
func (l *containerLog) flushLine(s *stream) {
	if s.length > 0 && l.fd >= 0 {
		l.buffer = l.buffer[:0]
		l.appendLine(time.Now().UTC(), s, 'P')
		l.flush()
	}
}

func (l *containerLog) appendLine(now time.Time, s *stream, tag byte) {
	l.buffer = now.AppendFormat(l.buffer, time.RFC3339Nano)
	l.buffer = append(append(l.buffer, ' '), s.name...)
	l.buffer = append(l.buffer, ' ', tag, ' ')
	l.buffer = append(append(l.buffer, s.line[:s.length]...), '\n')
	s.length = 0
	if len(l.buffer) > 2*bufferSize {
		l.flush()
	}
}

// flush writes the buffer. If the disk is full, lines are lost.
func (l *containerLog) flush() {
	_ = writeAll(l.fd, l.buffer)
	l.buffer = l.buffer[:0]
}
