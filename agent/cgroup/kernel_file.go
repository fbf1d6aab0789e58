package cgroup

import (
	"errors"
	"fmt"
	"io"
	"math"

	"golang.org/x/sys/unix"
)

// ErrRemoved is the error of Open and of reads if the cgroup does not exist or was removed.
var ErrRemoved = errors.New("cgroup does not exist")

// file is a kernel file kept open for repeated reads.
type file struct {
	fd   int
	name string
}

// open opens a file; if it does not exist, fd is -1 and there is no error.
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

// read reads the whole file, at most len(buf) bytes.
func (f *file) read(buf []byte) ([]byte, error) {
	if f.fd < 0 {
		return nil, fmt.Errorf("%s: %w", f.name, unix.ENOENT)
	}
	n := 0
	for n < len(buf) {
		got, err := unix.Pread(f.fd, buf[n:], int64(n))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.ENODEV) {
			return nil, fmt.Errorf("%s: %w", f.name, ErrRemoved)
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
	return buf[:n], nil
}

// number reads a file with a single number; "max" is Unlimited.
func (f *file) number() (int64, error) {
	var buf [32]byte
	text, err := f.read(buf[:])
	if err != nil {
		return 0, err
	}
	if len(text) >= 3 && string(text[:3]) == "max" {
		return Unlimited, nil
	}
	n, rest := parseDigits(text)
	if len(rest) == len(text) {
		return 0, fmt.Errorf("%s: %q is not a number", f.name, string(text))
	}
	return n, nil
}

// parseDigits parses the number at the start of text. A number that is too large for int64 becomes math.MaxInt64.
func parseDigits(text []byte) (n int64, rest []byte) {
	i := 0
	for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
		digit := int64(text[i] - '0')
		if n > (math.MaxInt64-digit)/10 {
			n = math.MaxInt64
			continue
		}
		n = n*10 + digit
	}
	return n, text[i:]
}

// nextLine parses the first "key value" line of text. ok is false at the end of text. The key is
// empty for lines of other forms.
func nextLine(text []byte) (key []byte, value int64, rest []byte, ok bool) {
	if len(text) == 0 {
		return nil, 0, nil, false
	}
	end := 0
	for end < len(text) && text[end] != '\n' {
		end++
	}
	line := text[:end]
	rest = text[min(end+1, len(text)):]
	for i := range line {
		if line[i] == ' ' {
			value, _ = parseDigits(line[i+1:])
			return line[:i], value, rest, true
		}
	}
	return nil, 0, rest, true
}

// lookup returns the value of key in "key value" lines.
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
