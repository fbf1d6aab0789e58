package store

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/internal/testkit"
)

// TestStoreIsReadOnlyOnFullFileSystem checks that the store rejects writes while its file system is full. It
// retains all acknowledged writes, and accepts writes again when space is free.
func TestStoreIsReadOnlyOnFullFileSystem(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=400m"); err != nil {
		testkit.SkipOrFail(t, "root", err.Error())
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	b := open(t, dir)
	put := func(key string) error {
		_, err := b.client.Client.Put(requestContext(t.Context(), "create", ""), key, strings.Repeat("x", mib))
		return err
	}
	acknowledged := 0
	for put("/registry/pods/"+strings.Repeat("k", acknowledged+1)) == nil {
		if acknowledged++; acknowledged > 400 {
			t.Fatal("the store accepts more than 400 MiB in a file system of 400 MiB")
		}
	}
	if acknowledged == 0 {
		t.Fatal("nothing was written")
	}
	// A snapshot commits what etcd has buffered: bbolt fails if it must write to a full file system.
	snapshot, err := b.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, snapshot)
	if err := errors.Join(err, snapshot.Close()); err != nil {
		t.Fatal(err)
	}
	otherFile := filepath.Join(dir, "file-of-another-program")
	fillFile(t, otherFile)
	guard := guardOf(t, b)
	guard.mu.Lock()
	guard.refresh(true)
	guard.mu.Unlock()
	if err := b.CheckWritable(); err == nil || put("/registry/pods/a") == nil {
		t.Errorf("CheckWritable on a full file system: got %v, want an error and rejected writes", err)
	}
	guard.updateReserve()
	if _, err := b.client.Client.Delete(t.Context(), "/registry/pods/k"); err != nil {
		t.Errorf("delete on a full file system: %v, want no error", err)
	}
	b.Close()
	if b, _ = OpenEmbedded(t.Context(), dir); b != nil {
		t.Cleanup(b.Close) // the released reserve suffices to start
	} else if err := os.Remove(otherFile); err != nil {
		t.Fatal(err)
	} else {
		b = open(t, dir)
	}
	_ = os.Remove(otherFile)
	guard = guardOf(t, b)
	guard.mu.Lock()
	guard.refresh(true)
	guard.refresh(true)
	guard.mu.Unlock()
	resp, err := b.client.Client.Get(t.Context(), "/registry/pods/kk")
	if acknowledged > 1 && (err != nil || len(resp.Kvs) != 1) {
		t.Errorf("acknowledged object after a restart: got %v and error %v, want 1 object", resp, err)
	}
	if err := b.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// fillFile writes until the file system is full.
func fillFile(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 64<<10); ; {
		if _, err := f.Write(block); err != nil {
			return
		}
	}
}
