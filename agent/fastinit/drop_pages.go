//go:build linux

package fastinit

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
)

// gcMemoryLimit is the size in bytes of the Go runtime's memory above which it collects garbage.
const gcMemoryLimit = 24 << 20

// DeferGC disables garbage collection up to gcMemoryLimit. Call it first: a collection touches
// the variables of all packages.
func DeferGC() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(gcMemoryLimit)
}

// DropFilePages removes the pages of the program file from this process. Call it when the
// process is idle. The pages stay in the page cache and are mapped again on use, in small
// pieces. Some kernels map up to 2 MiB around a faulting page, but only within a range of equal
// madvise settings. Therefore every other piece gets a different setting.
func DropFilePages() { DropFilePagesBy(64 << 10) }

// DropFilePagesBy is DropFilePages with the given piece size in bytes, a power of two. Each piece costs
// about 200 bytes of kernel memory.
func DropFilePagesBy(piece uintptr) {
	// Huge pages would map the dropped pages again.
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
			// Mappings with private pages are skipped: these pages have relocated addresses, which would
			// be lost.
			madvise(from, to, syscall.MADV_DONTNEED)
			for start := (from | (piece - 1)) + 1; start < to; start += 2 * piece {
				madvise(start, min(start+piece, to), syscall.MADV_RANDOM)
			}
		}
	}
}

// madvise ignores errors: the kernel may not support the advice.
func madvise(from, to, advice uintptr) {
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, advice)
}

// prSetTHPDisable is PR_SET_THP_DISABLE of prctl(2).
const prSetTHPDisable = 41

// readOnlyFileRange returns the range of a read-only file mapping, or an empty range.
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
