package shim

import "syscall"

// fileMappings are the unmodified mappings of the program's file.
type fileMappings struct {
	ranges [64][2]uintptr
	count  int
}

// dropPages drops the pages of the program's file from the process, as agent/fastinit does. They
// stay in the page cache and are mapped again on use, in small parts. Forks start without these
// pages.
func (m *fileMappings) dropPages(buffer []byte) {
	_ = prctl(prSetTHPDisable, 1)
	fd, err := open("/proc/self/smaps", syscall.O_RDONLY, 0)
	if err != nil {
		return
	}
	m.count = 0
	var line [256]byte
	length := 0
	var from, to uintptr
	for {
		n, errno := read(fd, buffer)
		if errno == syscall.EINTR {
			continue
		}
		if n <= 0 {
			break
		}
		for _, c := range buffer[:n] {
			if c != '\n' {
				if length < len(line) {
					line[length] = c
					length++
				}
				continue
			}
			text := line[:length]
			length = 0
			if a, b, ok := parseMapping(text); ok {
				from, to = a, b
			} else if isUnmodified(text) && from < to && m.count < len(m.ranges) {
				m.ranges[m.count] = [2]uintptr{from, to}
				m.count++
			}
		}
	}
	closeFile(fd)
	for _, r := range m.ranges[:m.count] {
		dropRange(r[0], r[1])
	}
}

// dropRanges drops the pages of the recorded ranges that were mapped again.
func (m *fileMappings) dropRanges() {
	for _, r := range m.ranges[:m.count] {
		madvise(r[0], r[1], syscall.MADV_DONTNEED)
	}
}

// faultAroundSize is the maximum size that a page fault maps.
const faultAroundSize = 64 << 10

// dropRange drops the pages of a mapping. Some kernels map all cached pages around a fault, but
// only within a mapping with equal advice. So every other part gets a different advice.
func dropRange(from, to uintptr) {
	madvise(from, to, syscall.MADV_DONTNEED)
	for address := (from | (faultAroundSize - 1)) + 1; address < to; address += 2 * faultAroundSize {
		madvise(address, min(address+faultAroundSize, to), syscall.MADV_RANDOM)
	}
}

// madvise advises the kernel. Errors are ignored.
func madvise(from, to, advice uintptr) {
	_, _ = call(syscall.SYS_MADVISE, from, to-from, advice, 0, 0)
}

// parseMapping parses the first line of a mapping, "7f00-7f10 r-xp 00000000 fe:00 1234 /path".
// The range is empty if the mapping is writable or not a file.
func parseMapping(line []byte) (from, to uintptr, ok bool) {
	i := 0
	if from, i = parseHex(line, i); i == 0 || i >= len(line) || line[i] != '-' {
		return 0, 0, false
	}
	begin := i + 1
	if to, i = parseHex(line, begin); i == begin || i+5 > len(line) || line[i] != ' ' {
		return 0, 0, false
	}
	file := false
	for _, c := range line[i:] {
		file = file || c == '/' && line[i+1] == 'r' && line[i+2] == '-'
	}
	if !file {
		return 0, 0, true
	}
	return from, to, true
}

// parseHex parses the hexadecimal number at index i. next is the index after it.
func parseHex(line []byte, i int) (n uintptr, next int) {
	for ; i < len(line); i++ {
		switch c := line[i]; {
		case c >= '0' && c <= '9':
			n = n<<4 | uintptr(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | uintptr(c-'a'+10)
		default:
			return n, i
		}
	}
	return n, i
}

// isUnmodified reports whether a line is "Anonymous: 0 kB". Dropping modified pages would lose
// data.
func isUnmodified(line []byte) bool {
	const name = "Anonymous:"
	if len(line) < len(name) || string(line[:len(name)]) != name {
		return false
	}
	for _, c := range line[len(name):] {
		if c >= '1' && c <= '9' {
			return false
		}
	}
	return true
}
