package logfile

import (
	"bytes"
	"io"
)

// blockSize is the number of bytes that are read at a time.
const blockSize = 64 << 10

// lastLines returns the offset of the last n requested lines of a file, and their number.
// hasNext means that lines of the next file were counted: pieces at the end of this file belong to
// the first of them.
func lastLines(f io.ReaderAt, size, n int64, q Request, hasNext bool) (offset, found int64, err error) {
	if n == 0 && !hasNext {
		return size, 0, nil
	}
	err = readBackwards(f, size, func(raw []byte, end int64) bool {
		l, ok := parseLine(raw)
		if !ok || !q.includes(l) {
			return true
		}
		if !l.full && (hasNext || found > 0) {
			return true // counted with the end of its line
		}
		if found == n {
			offset = end
			return false
		}
		found++
		return true
	})
	return offset, found, err
}

// readBackwards calls visit for the complete lines from last to first, with the offset after
// each, until it returns false.
func readBackwards(f io.ReaderAt, size int64, visit func(raw []byte, end int64) bool) error {
	var tail []byte // a line whose start is not read yet, including its newline
	buf := make([]byte, blockSize)
	for pos := size; pos > 0; {
		n := min(pos, blockSize)
		pos -= n
		if _, err := f.ReadAt(buf[:n], pos); err != nil && err != io.EOF {
			return err
		}
		data := append(bytes.Clone(buf[:n]), tail...)
		for {
			last := bytes.LastIndexByte(data, '\n')
			if last < 0 {
				break
			}
			previous := bytes.LastIndexByte(data[:last], '\n')
			if previous < 0 && pos > 0 {
				break // the line may start in the previous block
			}
			if !visit(data[previous+1:last], pos+int64(last)+1) {
				return nil
			}
			data = data[:previous+1]
		}
		tail = data
	}
	return nil
}
