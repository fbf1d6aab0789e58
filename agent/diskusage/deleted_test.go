package diskusage_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/diskusage"
)

// TestMeasureDeleted checks that deleted files count while a descriptor or a mapping refers to
// them, and that files with a name do not.
func TestMeasureDeleted(t *testing.T) {
	dir := t.TempDir()
	device := func(path string) uint64 {
		var s unix.Stat_t
		if err := unix.Stat(path, &s); err != nil {
			t.Fatal(err)
		}
		return uint64(s.Dev)
	}
	open := func(name string, size int) *os.File {
		t.Helper()
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		if _, err := f.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		return f
	}
	measure := func() diskusage.Usage {
		return diskusage.MeasureDeleted(t.Context(), []int{os.Getpid(), 1 << 30}, device(dir))
	}
	before := measure()
	named, unlinked, mapped := open("named", 1<<20), open("unlinked", 2<<20), open("mapped", 3<<20)
	reopened, err := os.Open(unlinked.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer reopened.Close()
	pages, err := unix.Mmap(int(mapped.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{unlinked, mapped} {
		if err := os.Remove(f.Name()); err != nil {
			t.Fatal(err)
		}
	}
	if got := measure(); got.Inodes-before.Inodes != 2 || got.Bytes-before.Bytes < 5<<20 || got.Bytes-before.Bytes > 5<<20+64<<10 {
		t.Errorf("MeasureDeleted = %+v after %+v, want two files with 5 MiB more, without %s", got, before, named.Name())
	}
	if err := mapped.Close(); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // the kernel shows mapped files to privileged processes only
		if got := measure(); got.Inodes-before.Inodes != 2 {
			t.Errorf("MeasureDeleted = %+v after %+v with one file only mapped, want two files more", got, before)
		}
	}
	if err := unix.Munmap(pages); err != nil {
		t.Fatal(err)
	}
	if got := measure(); got.Inodes-before.Inodes != 1 || got.Bytes-before.Bytes > 2<<20+64<<10 {
		t.Errorf("MeasureDeleted = %+v after %+v, want one file with 2 MiB more", got, before)
	}
}
