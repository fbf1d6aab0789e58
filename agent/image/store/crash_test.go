package store_test

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/agent/image/store"
)

// unpackerName is the program name under which this binary unpacks until it is killed.
const unpackerName = "unpacker"

func TestMain(m *testing.M) {
	if os.Args[0] == unpackerName {
		fmt.Fprintln(os.Stderr, unpackForever(os.Args[1]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// unpackForever loads an archive from standard input into the store and blocks until it is killed.
func unpackForever(dir string) error {
	s, err := store.Open(dir, store.Options{Limits: store.Limits{MinFree: -1}})
	if err != nil {
		return err
	}
	_, err = s.Load(context.Background(), os.Stdin, "late", func(string, int64, int64) {
		fmt.Println("unpacking")
		time.Sleep(time.Hour) // until killed; select {} would be reported as a deadlock
	})
	return err
}

// TestCrashRecovery checks that a process killed while unpacking leaves no visible image, and no files
// after the next Open. While it runs, other processes do not remove its files.
func TestCrashRecovery(t *testing.T) {
	s := open(t, store.Options{})
	loaded, err := s.Load(t.Context(), layerReader(t, file("existing", "")), "existing", nil)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{unpackerName, s.Dir()}
	cmd.Stderr = os.Stderr
	cmd.Stdin = layerReader(t, file("a", string(make([]byte, 3<<20))))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("unpacking\n"))); err != nil {
		t.Fatal(err)
	}
	transactions := func() int {
		list, err := os.ReadDir(filepath.Join(s.Dir(), "tmp"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if _, err := store.Open(s.Dir(), store.Options{}); err != nil || transactions() == 0 {
		t.Errorf("Open while a process unpacks: %v, %d transactions, want its transaction", err, transactions())
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if list, err := s.List(); err != nil || len(list) != 1 {
		t.Errorf("images %+v, %v, want one", list, err)
	}
	if _, err := store.Open(s.Dir(), store.Options{}); err != nil || transactions() != 0 {
		t.Errorf("Open after its end: %v, %d transactions, want none", err, transactions())
	}
	if err := s.Remove(loaded[0].ID); err != nil {
		t.Error(err)
	}
	checkEmpty(t, s)
}

// layerReader returns an archive with an image of these files.
func layerReader(t *testing.T, entries ...header) io.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(path, dockerArchive(t, layerOf(t, entries...)), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestCorruptImagesAreRemoved checks that an image damaged by a power failure or by hand is removed,
// and that other images are kept.
func TestCorruptImagesAreRemoved(t *testing.T) {
	s := open(t, store.Options{})
	missingLayer, err := s.Load(t.Context(), layerReader(t, file("a", "1")), "missing-layer", nil)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := s.Load(t.Context(), layerReader(t, file("a", "2")), "blob", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), layerReader(t, file("a", "3")), "complete", nil); err != nil {
		t.Fatal(err)
	}
	record, err := s.Load(t.Context(), layerReader(t, file("a", "4")), "record", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(filepath.Dir(record[0].LowerDirs[0]), "layer.json"), filepath.Join(s.Dir(), "uses", "other")} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Dir(missingLayer[0].LowerDirs[0])); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(s.Dir(), "blobs/sha256", blob[0].ID[len("sha256:"):]), 10); err != nil {
		t.Fatal(err)
	}
	tempFile := filepath.Join(s.Dir(), ".new-1")
	if err := os.WriteFile(tempFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = store.Open(s.Dir(), store.Options{}); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil || len(list) != 1 || list[0].RepoTags[0] != "docker.io/library/complete:latest" {
		t.Errorf("images %+v, %v, want only the complete one", list, err)
	}
	if _, err := os.Stat(tempFile); err == nil {
		t.Error("a partially written file exists after Open, want it removed")
	}
	if layers, _ := os.ReadDir(filepath.Join(s.Dir(), "layers")); len(layers) != 1 {
		t.Errorf("%d layers, want 1", len(layers))
	}
}

// TestLayerFidelity checks that unpacking preserves owners, modes, times and links.
func TestLayerFidelity(t *testing.T) {
	s := open(t, store.Options{})
	images, err := s.Load(t.Context(), layerReader(t,
		header{tar.Header{Typeflag: tar.TypeDir, Name: "d/", Mode: 0o1750, Uid: 7, Gid: 8, ModTime: modTime}, ""},
		header{tar.Header{Name: "d/f", Mode: 0o2641, Uid: 9, Gid: 10, ModTime: modTime}, "text"},
		hardLink("d/h", "d/f"), symlink("d/s", "/etc/passwd"),
		header{tar.Header{Name: "d/x", PAXRecords: map[string]string{"SCHILY.xattr.user.note": "yes"}}, ""},
	), "fidelity", nil)
	if err != nil {
		t.Fatal(err)
	}
	checkLayerFidelity(t, images[0].LowerDirs[0])
}

// TestAcquireRejectsPaths checks that the name of a container must be a file name.
func TestAcquireRejectsPaths(t *testing.T) {
	s := open(t, store.Options{})
	if _, err := s.Acquire("../c", "app:1"); err == nil || !strings.Contains(err.Error(), "must be a valid file name") {
		t.Errorf("Acquire: %v, want must be a valid file name", err)
	}
}

// TestOpaqueRoot checks that an opaque root directory hides all lower layers, and that a repeated layer
// is mounted once.
func TestOpaqueRoot(t *testing.T) {
	s := open(t, store.Options{})
	images, err := s.Load(t.Context(), archiveOf(t, layerOf(t, file("lower", "")), layerOf(t, file(".wh..wh..opq", ""), file("upper", ""))), "opaque", nil)
	if err != nil || len(images[0].LowerDirs) != 1 {
		t.Fatalf("image %+v, %v, want only the upper layer", images, err)
	}
	// A repeated layer is mounted once: overlayfs rejects equal lower directories.
	repeated, err := s.Load(t.Context(), archiveOf(t, layerOf(t, file("lower", "")), layerOf(t, file("b", "")), layerOf(t, file("lower", ""))), "repeated", nil)
	if err != nil || len(repeated[0].LowerDirs) != 2 {
		t.Fatalf("image %+v, %v, want two layers", repeated, err)
	}
	mountLayers(t, repeated[0])
}
