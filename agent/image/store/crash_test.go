package store_test

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

// unpackForever loads an archive from standard input into the store.
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

// A process killed while unpacking leaves no visible image, and no files after the next Open.
// While it runs, other processes do not touch its work.
func TestCrashRecovery(t *testing.T) {
	s := open(t, store.Options{})
	loaded, err := s.Load(t.Context(), layerReader(t, file("kept", "")), "kept", nil)
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
		t.Errorf("%v, %d transactions while a process unpacks", err, transactions())
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if list, err := s.List(); err != nil || len(list) != 1 {
		t.Errorf("images %+v, %v, want one", list, err)
	}
	if _, err := store.Open(s.Dir(), store.Options{}); err != nil || transactions() != 0 {
		t.Errorf("%v, %d transactions after Open", err, transactions())
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
	if err := os.WriteFile(path, saved(t, layerOf(t, entries...)), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// An image damaged by a power failure or by hand is removed; the others are kept.
func TestCorruptImagesAreRemoved(t *testing.T) {
	s := open(t, store.Options{})
	broken, err := s.Load(t.Context(), layerReader(t, file("a", "1")), "broken", nil)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := s.Load(t.Context(), layerReader(t, file("a", "2")), "blob", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), layerReader(t, file("a", "3")), "whole", nil); err != nil {
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
	if err := os.RemoveAll(filepath.Dir(broken[0].LowerDirs[0])); err != nil {
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
	if err != nil || len(list) != 1 || list[0].RepoTags[0] != "docker.io/library/whole:latest" {
		t.Errorf("%+v, %v, want the complete one", list, err)
	}
	if _, err := os.Stat(tempFile); err == nil {
		t.Error("a partially written file was not removed")
	}
	if layers, _ := os.ReadDir(filepath.Join(s.Dir(), "layers")); len(layers) != 1 {
		t.Errorf("%d layers, want 1", len(layers))
	}
}

// Unpacking preserves owners, modes, times and links.
func TestLayerFidelity(t *testing.T) {
	s := open(t, store.Options{})
	images, err := s.Load(t.Context(), layerReader(t,
		header{tar.Header{Typeflag: tar.TypeDir, Name: "d/", Mode: 0o1750, Uid: 7, Gid: 8, ModTime: moment}, ""},
		header{tar.Header{Name: "d/f", Mode: 0o2641, Uid: 9, Gid: 10, ModTime: moment}, "text"},
		hardLink("d/h", "d/f"), symlink("d/s", "/etc/passwd"),
		header{tar.Header{Name: "d/x", PAXRecords: map[string]string{"SCHILY.xattr.user.note": "yes"}}, ""},
	), "faithful", nil)
	if err != nil {
		t.Fatal(err)
	}
	check(t, images[0].LowerDirs[0])
	if _, err := s.Acquire("../c", images[0].ID); err == nil {
		t.Error("a container name escapes the store")
	}
}

// An opaque root directory hides all lower layers.
func TestOpaqueRoot(t *testing.T) {
	s := open(t, store.Options{})
	images, err := s.Load(t.Context(), archiveOf(t, layerOf(t, file("low", "")), layerOf(t, file(".wh..wh..opq", ""), file("high", ""))), "opaque", nil)
	if err != nil || len(images[0].LowerDirs) != 1 {
		t.Fatalf("%+v, %v, want only the upper layer", images, err)
	}
	// A repeated layer is mounted once: overlayfs rejects equal lower directories.
	twice, err := s.Load(t.Context(), archiveOf(t, layerOf(t, file("low", "")), layerOf(t, file("b", "")), layerOf(t, file("low", ""))), "twice", nil)
	if err != nil || len(twice[0].LowerDirs) != 2 {
		t.Fatalf("%+v, %v, want two layers", twice, err)
	}
	mountLayers(t, twice[0])
}
