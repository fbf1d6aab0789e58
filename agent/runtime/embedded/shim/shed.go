package shim

import "syscall"

// shed takes the pages of the program's file out of the process, as agent/early does, but without an allocation: they stay in
// the page cache, and what is used comes back by small pieces.
func (s *shim) shed() {
	const prSetTHPDisable = 41
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, prSetTHPDisable, 1, 0, 0, 0, 0)
	fd, err := syscall.Open("/proc/self/smaps", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	ranges := s.found[:0]
	var line [256]byte
	held := 0
	var from, to uintptr
	for {
		n, err := syscall.Read(fd, s.in[:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		for _, c := range s.in[:n] {
			if c != '\n' {
				if held < len(line) {
					line[held] = c
					held++
				}
				continue
			}
			text := line[:held]
			held = 0
			if a, b, ok := mapping(text); ok {
				from, to = a, b
			} else if untouched(text) && from < to && len(ranges) < cap(ranges) {
				ranges = append(ranges, [2]uintptr{from, to})
			}
		}
	}
	_ = syscall.Close(fd)
	s.ranges = ranges
	for _, r := range ranges {
		giveBack(r[0], r[1])
	}
}

// shedAgain takes out what came back.
func (s *shim) shedAgain() {
	for _, r := range s.ranges {
		advise(r[0], r[1], syscall.MADV_DONTNEED)
	}
}

// piece of a file that is mapped at once, at most.
const piece = 64 << 10

// giveBack gives the pages of a mapping back. Some kernels map all around a page that they have in the cache, but
// within one mapping with one advice alone; so every other piece gets another one.
func giveBack(from, to uintptr) {
	advise(from, to, syscall.MADV_DONTNEED)
	for at := (from | (piece - 1)) + 1; at < to; at += 2 * piece {
		advise(at, min(at+piece, to), syscall.MADV_RANDOM)
	}
}

// advise tells the kernel of memory; that it knows no such advice is no matter.
func advise(from, to, advice uintptr) {
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, advice)
}

// mapping reads the first line of a mapping, "7f00-7f10 r-xp 00000000 fe:00 1234 /path"; one that is
// not a file's, or that is written to, is empty.
func mapping(line []byte) (from, to uintptr, ok bool) {
	i := 0
	if from, i = hex(line, i); i == 0 || i >= len(line) || line[i] != '-' {
		return 0, 0, false
	}
	begin := i + 1
	if to, i = hex(line, begin); i == begin || i+5 > len(line) || line[i] != ' ' {
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

func hex(line []byte, i int) (n uintptr, next int) {
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

// untouched says whether a line is "Anonymous: 0 kB": pages of the process's own would be lost.
func untouched(line []byte) bool {
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
