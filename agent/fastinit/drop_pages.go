package fastinit

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
)

// gcHeapLimit is how much garbage there may be before there is a collection after all.
const gcHeapLimit = 24 << 20

// DeferGC is to be called first. There is no garbage collection then until there is much garbage: it would touch the variables of
// all packages.
func DeferGC() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(gcHeapLimit)
}

// DropFilePages takes the pages of the program's file out of this process, to be called when it has settled. They stay in the page
// cache, and what is used comes back, now by small pieces: some kernels map all around a page that they have in
// the cache, 2 MiB at once, which soon is most of a program. They do so within one mapping with one
// advice alone; so every other piece gets another one.
func DropFilePages() { DropFilePagesBy(64 << 10) }

// DropFilePagesBy is Shed with pieces of so many bytes, a power of two; each costs the kernel some 200 bytes.
func DropFilePagesBy(piece uintptr) {
	// No mappings of 2 MiB by one entry either.
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, prSetTHPDisable, 1, 0, 0, 0, 0)
	data, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	var from, to uintptr
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		switch {
		case len(fields) >= 6 && !bytes.HasSuffix(fields[0], []byte(":")):
			from, to = readOnlyFileRange(fields)
		case len(fields) == 3 && string(fields[0]) == "Anonymous:" && string(fields[1]) == "0" && from < to:
			// Pages of its own, such as addresses that the loader filled in, would be lost.
			madvise(from, to, syscall.MADV_DONTNEED)
			for at := (from | (piece - 1)) + 1; at < to; at += 2 * piece {
				madvise(at, min(at+piece, to), syscall.MADV_RANDOM)
			}
		}
	}
}

// madvise tells the kernel of memory; that it knows no such advice is no matter.
func madvise(from, to, advice uintptr) {
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, advice)
}

// prSetTHPDisable is PR_SET_THP_DISABLE of prctl(2).
const prSetTHPDisable = 41

// readOnlyFileRange is the range of a mapping of a file that nobody writes to; empty if it is no such mapping.
func readOnlyFileRange(fields [][]byte) (from, to uintptr) {
	flags, inode := fields[1], fields[4]
	if len(flags) != 4 || flags[0] != 'r' || flags[1] != '-' || string(inode) == "0" {
		return 0, 0
	}
	begin, end, ok := bytes.Cut(fields[0], []byte("-"))
	if !ok {
		return 0, 0
	}
	a, err := strconv.ParseUint(string(begin), 16, strconv.IntSize)
	if err != nil {
		return 0, 0
	}
	b, err := strconv.ParseUint(string(end), 16, strconv.IntSize)
	if err != nil {
		return 0, 0
	}
	return uintptr(a), uintptr(b)
}
