package logfile

import (
	"bytes"
	"io"
)

const blockSize = 64 << 10

// lastLines is where the last n wanted lines of a file begin, and how many of them
// there are. below says that the lines of the file that comes after this one have
// been counted: pieces at the end of this one belong to the first of them.
func lastLines(f io.ReaderAt, size, n int64, q Request, below bool) (at, found int64, err error) {
	if n == 0 && !below {
		return size, 0, nil
	}
	err = readBackwards(f, size, func(raw []byte, end int64) bool {
		l, ok := parseLine(raw)
		if !ok || !q.includes(l) {
			return true
		}
		if !l.full && (below || found > 0) {
			return true // belongs to the line that was counted by its end
		}
		if found == n {
			at = end
			return false
		}
		found++
		return true
	})
	return at, found, err
}

// readBackwards visits the complete lines of a file from the last to the first, with
// the offset behind each, until visit is false.
func readBackwards(f io.ReaderAt, size int64, visit func(raw []byte, end int64) bool) error {
	var tail []byte // of the line whose beginning is not read yet, newline included
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
			before := bytes.LastIndexByte(data[:last], '\n')
			if before < 0 && pos > 0 {
				break // it may begin in the block before
			}
			if !visit(data[before+1:last], pos+int64(last)+1) {
				return nil
			}
			data = data[:before+1]
		}
		tail = data
	}
	return nil
}
