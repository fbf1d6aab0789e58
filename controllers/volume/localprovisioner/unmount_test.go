package localprovisioner

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/internal/testkit"
)

// TestRemoveUnmounts checks that a volume that an agent has mounted is removed with its disk image.
func TestRemoveUnmounts(t *testing.T) {
	s, err := openStorage(filepath.Join(t.TempDir(), "volumes"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	dir, err := s.create("n1", "pvc-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("test", dir, "tmpfs", 0, ""); err != nil {
		testkit.SkipOrFail(t, "mount", err.Error())
	}
	for _, name := range []string{dir + "/data", dir + ".img", dir + ".plain"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.remove("n1", "pvc-1"); err != nil {
		t.Fatal(err)
	}
	if remaining, _ := os.ReadDir(filepath.Dir(dir)); len(remaining) > 0 {
		t.Errorf("%v remain, want none", remaining)
	}
	if info, err := os.Stat(filepath.Dir(dir)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the node directory %v, error %v, want 0700", info.Mode(), err)
	}
}
