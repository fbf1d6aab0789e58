package localprovisioner

import (
	"os"
	"path/filepath"
	"testing"
)

func openTestStorage(t *testing.T) (*storage, string) {
	t.Helper()
	outside := t.TempDir()
	s, err := openStorage(filepath.Join(outside, "volumes"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s, outside
}

func writeFile(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestStorageCreateAndRemove(t *testing.T) {
	s, _ := openTestStorage(t)
	path, err := s.create("n1", "pvc-1")
	if err != nil || path != filepath.Join(s.path, "n1", "pvc-1") {
		t.Fatalf("create: path %q, error %v, want the directory of n1/pvc-1", path, err)
	}
	data := writeFile(t, path, "deep", "file")
	if second, err := s.create("n1", "pvc-1"); err != nil || second != path || !exists(data) {
		t.Errorf("second create: path %q, error %v, data exists: %t, want the same directory with its data", second, err, exists(data))
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("mode %v, error %v, want 0777", info.Mode(), err)
	}
	if node, err := s.nodeOf(path, "pvc-1"); err != nil || node != "n1" {
		t.Errorf("node %q, error %v, want n1", node, err)
	}
	for range 2 {
		if err := s.remove("n1", "pvc-1"); err != nil || exists(path) {
			t.Errorf("remove: error %v, directory exists: %t, want neither", err, exists(path))
		}
	}
	if err := s.remove("n9", "pvc-1"); err != nil {
		t.Errorf("remove on a node without directories: error %v, want none", err)
	}
}

func TestStorageStaysInsideRoot(t *testing.T) {
	s, outside := openTestStorage(t)
	outsideFile := writeFile(t, outside, "pvc-1", "file")
	for _, node := range []string{"", ".", "..", "../x", "a/b", "/", `a\b`} {
		if _, err := s.create(node, "pvc-1"); err == nil {
			t.Errorf("create accepts node %q, want an error", node)
		}
		if err := s.remove(node, "pvc-1"); err == nil {
			t.Errorf("remove accepts node %q, want an error", node)
		}
		if err := s.remove("n1", node); err == nil {
			t.Errorf("remove accepts volume %q, want an error", node)
		}
	}
	// A node's directory that was replaced by a symbolic link.
	if err := os.Symlink(outside, filepath.Join(s.path, "n1")); err != nil {
		t.Fatal(err)
	}
	_, err := s.create("n1", "pvc-1")
	if removeErr := s.remove("n1", "pvc-1"); err == nil || removeErr == nil {
		t.Errorf("through a link: create error %v, remove error %v, want both", err, removeErr)
	}
	// A link in a volume is removed, but not its target.
	path, err := s.create("n2", "pvc-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "pvc-1"), filepath.Join(path, "link")); err != nil {
		t.Fatal(err)
	}
	if err := s.remove("n2", "pvc-1"); err != nil || exists(path) {
		t.Errorf("remove: error %v, directory exists: %t, want neither", err, exists(path))
	}
	if !exists(outsideFile) {
		t.Error("a file outside of the root was removed, want it unchanged")
	}
}

func TestNodeOfRejectsOtherPaths(t *testing.T) {
	s, outside := openTestStorage(t)
	for _, path := range []string{"", "/", "/etc", s.path, filepath.Join(s.path, "pvc-1"), filepath.Join(s.path, "n1", "pvc-2"),
		filepath.Join(s.path, "n1", "x", "pvc-1"), filepath.Join(outside, "n1", "pvc-1"), s.path + "/../volumes/n1/pvc-1",
		s.path + "/n1/../pvc-1", s.path + "//pvc-1", "n1/pvc-1"} {
		if node, err := s.nodeOf(path, "pvc-1"); err == nil {
			t.Errorf("%q was accepted as the directory of pvc-1 on %q, want an error", path, node)
		}
	}
}
