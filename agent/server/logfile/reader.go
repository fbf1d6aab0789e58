package logfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"
)

// Request selects a part of a log. The zero value selects nothing: set Stdout or Stderr, and
// Tail.
type Request struct {
	Stdout, Stderr bool
	// Tail is the number of lines from the end; negative means all.
	Tail int64
	// Since excludes older lines.
	Since time.Time
	// Limit is the maximum number of bytes; 0 means no limit.
	Limit int64
	// Timestamps prefixes each line with its time.
	Timestamps bool
	// Follow continues with lines written later.
	Follow bool
}

// All returns a request for the whole log so far.
func All() Request { return Request{Stdout: true, Stderr: true, Tail: -1} }

func (q Request) includes(l line) bool { return l.stderr && q.Stderr || !l.stderr && q.Stdout }

// timeFormat has a fixed width, to align lines.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// errLimitReached ends reading at Request.Limit.
var errLimitReached = errors.New("byte limit reached")

// printer writes the requested lines.
type printer struct {
	out     io.Writer
	q       Request
	written int64
	inLine  bool // the last piece did not end its line
	buf     bytes.Buffer
}

func (p *printer) print(raw []byte) error {
	l, ok := parseLine(raw)
	if !ok || !p.q.includes(l) || l.timestamp.Before(p.q.Since) {
		return nil
	}
	p.buf.Reset()
	if p.q.Timestamps && !p.inLine {
		p.buf.Write(l.timestamp.AppendFormat(p.buf.AvailableBuffer(), timeFormat))
		p.buf.WriteByte(' ')
	}
	p.buf.Write(l.text)
	if l.full {
		p.buf.WriteByte('\n')
	}
	p.inLine = !l.full
	out := p.buf.Bytes()
	if remaining := p.q.Limit - p.written; p.q.Limit > 0 && int64(len(out)) >= remaining {
		if _, err := p.out.Write(out[:remaining]); err != nil {
			return err
		}
		return errLimitReached
	}
	n, err := p.out.Write(out)
	p.written += int64(n)
	return err
}

// reader returns the complete lines of a growing file.
type reader struct {
	source  io.Reader
	partial []byte // incomplete last line
	buf     []byte
}

func newReader(source io.Reader) *reader { return &reader{source: source, buf: make([]byte, 64<<10)} }

// drain calls visit for every complete line up to the current end.
func (r *reader) drain(visit func(raw []byte) error) error {
	for {
		n, err := r.source.Read(r.buf)
		data := r.buf[:n]
		if len(r.partial) > 0 {
			r.partial = append(r.partial, data...)
			data = r.partial
		}
		for {
			end := bytes.IndexByte(data, '\n')
			if end < 0 {
				break
			}
			if err := visit(data[:end]); err != nil {
				return err
			}
			data = data[end+1:]
		}
		r.partial = append(r.partial[:0], data...)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// sameFile reports whether path refers to the open file f.
func sameFile(f *os.File, path string) (bool, error) {
	pathInfo, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	fileInfo, err := f.Stat()
	return err == nil && os.SameFile(fileInfo, pathInfo), err
}
