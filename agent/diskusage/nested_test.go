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
	m := walker{hardLinked: map[uint64]bool{}}
	for m.push(&base{Root: root}, ".", 0); len(m.pending) > 0; m.visitNext() {
		for _, p := range m.pending {
			if n := strings.Count(p.path, "/") + 1; n > maxDepth+1 {
				t.Fatalf("a path has %d elements, want at most %d", n, maxDepth+1)
			}
		}
	}
	if m.err != nil || m.usage.Inodes != depth+1 {
		t.Errorf("%d inodes, %v, want %d", m.usage.Inodes, m.err, depth+1)
	}
	if got, err := Measure(dir); err != nil || got != m.usage {
		t.Errorf("%v, %v, want %v", got, err, m.usage)
	}
}
