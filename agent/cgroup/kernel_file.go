package cgroup

import (
	"errors"
	"fmt"
	"io"
	"math"

	"golang.org/x/sys/unix"
)

// ErrGone is what reads of a removed cgroup answer.
var ErrGone = errors.New("the cgroup has been removed")

// file is a kernel file held open, to be read again and again from its start.
type file struct {
	fd   int
	name string
}

// open answers with fd -1 where the file is not there.
func open(name string) (file, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return file{fd: -1, name: name}, nil
	}
	if err != nil {
		return file{fd: -1, name: name}, fmt.Errorf("%s: %w", name, err)
	}
	return file{fd: fd, name: name}, nil
}

func (f *file) close() {
	if f.fd >= 0 {
		_ = unix.Close(f.fd)
		f.fd = -1
	}
}

// read reads the file whole, as far as it fits.
func (f *file) read(into []byte) ([]byte, error) {
	if f.fd < 0 {
		return nil, fmt.Errorf("%s: %w", f.name, unix.ENOENT)
	}
	n := 0
	for n < len(into) {
		got, err := unix.Pread(f.fd, into[n:], int64(n))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.ENODEV) {
			return nil, ErrGone
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if got == 0 {
			break
		}
		n += got
	}
	if n == 0 {
		return nil, fmt.Errorf("%s: %w", f.name, io.ErrUnexpectedEOF)
	}
	return into[:n], nil
}

// number reads a file that is one number, "max" being math.MaxInt64.
func (f *file) number() (int64, error) {
	var space [32]byte
	text, err := f.read(space[:])
	if err != nil {
		return 0, err
	}
	if len(text) >= 3 && string(text[:3]) == "max" {
		return math.MaxInt64, nil
	}
	n, rest := parseDigits(text)
	if len(rest) == len(text) {
		return 0, fmt.Errorf("%s: %q is no number", f.name, string(text))
	}
	return n, nil
}

// parseDigits takes the number that text starts with.
func parseDigits(text []byte) (n int64, rest []byte) {
	i := 0
	for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
		if n > (math.MaxInt64-9)/10 {
			n = math.MaxInt64 / 10
		}
		n = n*10 + int64(text[i]-'0')
	}
	return n, text[i:]
}

// nextLine takes the next "key value" off text; ok is false at its end. Lines of
// other forms have an empty key.
func nextLine(text []byte) (key []byte, value int64, rest []byte, ok bool) {
	if len(text) == 0 {
		return nil, 0, nil, false
	}
	end := 0
	for end < len(text) && text[end] != '\n' {
		end++
	}
	this := text[:end]
	rest = text[min(end+1, len(text)):]
	for i := range this {
		if this[i] == ' ' {
			value, _ = parseDigits(this[i+1:])
			return this[:i], value, rest, true
		}
	}
	return nil, 0, rest, true
}

// lookup is the value of a key in "key value" lines.
func lookup(text []byte, key string) (int64, bool) {
	for {
		k, v, rest, ok := nextLine(text)
		if !ok {
			return 0, false
		}
		if string(k) == key {
			return v, true
		}
		text = rest
	}
}
