package logfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"
)

// Request says what of a log is wanted. The zero value wants nothing: Stdout
// or Stderr must be set, and Tail is 0.
type Request struct {
	Stdout, Stderr bool
	// Tail is how many lines from the end are wanted; below 0: all.
	Tail int64
	// Since leaves out what is older.
	Since time.Time
	// Limit ends the output after so many bytes; 0: never.
	Limit int64
	// Timestamps writes each line's time before it.
	Timestamps bool
	// Follow goes on with what is written later.
	Follow bool
}

// All wants everything that is there.
func All() Request { return Request{Stdout: true, Stderr: true, Tail: -1} }

func (q Request) includes(l line) bool { return l.stderr && q.Stderr || !l.stderr && q.Stdout }

// timeFormat is how times are shown: all digits, so that lines stay in columns.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// errLimitReached ends the reading when the limit is reached.
var errLimitReached = errors.New("as many bytes as were wanted")

// printer writes lines as they are wanted.
type printer struct {
	out    io.Writer
	q      Request
	wrote  int64
	inLine bool // the last piece did not end its line
	buf    bytes.Buffer
}

func (p *printer) print(raw []byte) error {
	l, ok := parseLine(raw)
	if !ok || !p.q.includes(l) || l.at.Before(p.q.Since) {
		return nil
	}
	p.buf.Reset()
	if p.q.Timestamps && !p.inLine {
		p.buf.Write(l.at.AppendFormat(p.buf.AvailableBuffer(), timeFormat))
		p.buf.WriteByte(' ')
	}
	p.buf.Write(l.text)
	if l.full {
		p.buf.WriteByte('\n')
	}
	p.inLine = !l.full
	out := p.buf.Bytes()
	if left := p.q.Limit - p.wrote; p.q.Limit > 0 && int64(len(out)) >= left {
		if _, err := p.out.Write(out[:left]); err != nil {
			return err
		}
		return errLimitReached
	}
	n, err := p.out.Write(out)
	p.wrote += int64(n)
	return err
}

// reader hands out the complete lines of a file that may still grow.
type reader struct {
	from    io.Reader
	partial []byte // begun lines
	buf     []byte
}

func newReader(from io.Reader) *reader { return &reader{from: from, buf: make([]byte, 64<<10)} }

// drain calls each with every complete line up to the end of what there is now.
func (r *reader) drain(each func(raw []byte) error) error {
	for {
		n, err := r.from.Read(r.buf)
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
			if err := each(data[:end]); err != nil {
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

// sameFile says whether path is the file that f was opened as.
func sameFile(f *os.File, path string) (bool, error) {
	now, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	was, err := f.Stat()
	return err == nil && os.SameFile(was, now), err
}
