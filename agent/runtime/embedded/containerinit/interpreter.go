package containerinit

import "os"

// interpreter returns the ELF interpreter of a program or the interpreter in a script's first
// line, or "". It does not use debug/elf, whose imports would be initialized first.
func interpreter(program string) string {
	f, err := os.Open(program)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, _ := f.ReadAt(head, 0)
	head = head[:n]
	if n > 2 && head[0] == '#' && head[1] == '!' {
		return interpreterWord(head[2:])
	}
	const fileHeaderSize, typeInterp = 64, 3 // typeInterp is PT_INTERP
	if n < fileHeaderSize || string(head[:5]) != "\x7fELF\x02" {
		return ""
	}
	table, size, count := littleEndian(head[32:40]), littleEndian(head[54:56]), littleEndian(head[56:58])
	for i := range count {
		offset := table + i*size
		if offset+56 > uint64(n) { // linkers put the table and the name at the beginning
			return ""
		}
		entry := head[offset : offset+56]
		if littleEndian(entry[:4]) != typeInterp {
			continue
		}
		start, length := littleEndian(entry[8:16]), littleEndian(entry[32:40])
		if length == 0 || length > 4096 {
			return ""
		}
		name := make([]byte, length)
		if n, _ := f.ReadAt(name, int64(start)); uint64(n) != length {
			return ""
		}
		return string(name[:length-1]) // without the terminating zero
	}
	return ""
}

// interpreterWord returns the first word of a line.
func interpreterWord(text []byte) string {
	start := 0
	for start < len(text) && (text[start] == ' ' || text[start] == '\t') {
		start++
	}
	end := start
	for end < len(text) && text[end] != ' ' && text[end] != '\t' && text[end] != '\n' {
		end++
	}
	return string(text[start:end])
}

// littleEndian decodes a little-endian integer.
func littleEndian(b []byte) (n uint64) {
	for i, c := range b {
		n |= uint64(c) << (8 * i)
	}
	return n
}
