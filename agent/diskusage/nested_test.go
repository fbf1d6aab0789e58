package diskusage

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNestedDirectories checks that the path of each opened directory is short, however deep the
// tree is: a pod can nest directories without limit.
func TestNestedDirectories(t *testing.T) {
	const depth = 500
	dir := t.TempDir()
	fd, err := unix.Open(dir, unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range depth {
		if err := unix.Mkdirat(fd, "d", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(fd, "d", unix.O_DIRECTORY|unix.O_PATH, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.Close(fd)
		fd = next
	}
	_ = unix.Close(fd)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := walker{hardLinked: map[uint64]bool{}}
	for w.push(&base{Root: root}, ".", 0); len(w.pending) > 0; w.visitNext() {
		for _, p := range w.pending {
			if n := strings.Count(p.path, "/") + 1; n > maxDepth+1 {
				t.Fatalf("a path has %d elements, want at most %d", n, maxDepth+1)
			}
		}
	}
	if w.err != nil || w.usage.Inodes != depth+1 {
		t.Errorf("got %d inodes (error %v), want %d", w.usage.Inodes, w.err, depth+1)
	}
	if got, err := Measure(dir); err != nil || got != w.usage {
		t.Errorf("Measure = %v, %v, want %v", got, err, w.usage)
	}
}
