package containerinit

import (
	"os"
)

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
	const fileHeader, loads = 64, 3 // PT_INTERP
	if n < fileHeader || string(head[:5]) != "\x7fELF\x02" {
		return ""
	}
	table, size, count := littleEndian(head[32:40]), littleEndian(head[54:56]), littleEndian(head[56:58])
	for i := range count {
		offset := table + i*size
		if offset+56 > uint64(n) { // linkers put the table and the name at the beginning
			return ""
		}
		entry := head[offset : offset+56]
		if littleEndian(entry[:4]) != loads {
			continue
		}
		from, length := littleEndian(entry[8:16]), littleEndian(entry[32:40])
		if length == 0 || length > 4096 {
			return ""
		}
		name := make([]byte, length)
		if n, _ := f.ReadAt(name, int64(from)); uint64(n) != length {
			return ""
		}
		return string(name[:length-1]) // without the terminating zero
	}
	return ""
}

// interpreterWord returns the first word of a line.
func interpreterWord(text []byte) string {
	from := 0
	for from < len(text) && (text[from] == ' ' || text[from] == '\t') {
		from++
	}
	to := from
	for to < len(text) && text[to] != ' ' && text[to] != '\t' && text[to] != '\n' {
		to++
	}
	return string(text[from:to])
}

// littleEndian decodes a little-endian integer.
func littleEndian(b []byte) (n uint64) {
	for i, c := range b {
		n |= uint64(c) << (8 * i)
	}
	return n
}
