package store

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func save(t *testing.T, b *Backend, path string) SnapshotStatus {
	t.Helper()
	from, err := b.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	status, err := SaveSnapshot(from, path)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

func TestSnapshotRoundTrip(t *testing.T) {
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "s.db")
	b := open(t, dir)
	put := func(key, value string) {
		t.Helper()
		if _, err := b.client.Client.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	put("/registry/pods/a", "1")
	put("/registry/pods/b", "2")
	before, err := b.client.Client.Get(t.Context(), "/registry/pods/a")
	if err != nil {
		t.Fatal(err)
	}
	status := save(t, b, path)
	if status.TotalKey != 2 || status.Revision != before.Header.Revision {
		t.Errorf("status %+v, want 2 keys at revision %d", status, before.Header.Revision)
	}
	put("/registry/pods/c", "after the snapshot")
	if _, err := RestoreSnapshot(path, dir); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("restored into a running store: %v", err)
	}
	b.Close()
	if _, err := RestoreSnapshot(path, dir); err == nil || !strings.Contains(err.Error(), "has a store") {
		t.Errorf("restored over a store: %v", err)
	}
	target := t.TempDir()
	// The files that a killed restore leaves.
	if err := os.MkdirAll(filepath.Join(target, "etcd.part", "member", "snap"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(target, "etcd.part", "member", "snap", "db"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := RestoreSnapshot(path, target); err != nil {
		t.Fatal(err)
	}
	if result, err := Check(target); err != nil || !result.Intact {
		t.Errorf("the restored store: %+v, %v", result, err)
	}
	b = open(t, target)
	found, err := b.client.Client.Get(t.Context(), "/registry/pods/", clientv3.WithPrefix())
	if err != nil || len(found.Kvs) != 2 || string(found.Kvs[0].Value) != "1" || string(found.Kvs[1].Value) != "2" {
		t.Errorf("restored: %v, %v", found, err)
	}
	// A client with a revision of the lost history must list again.
	if found.Header.Revision <= status.Revision+1000 {
		t.Errorf("revision %d after the restore, want far more than %d", found.Header.Revision, status.Revision)
	}
	put("/registry/pods/d", "4")
}

// A snapshot that is incomplete or damaged does not replace a file, and cannot be restored.
func TestIncompleteSnapshot(t *testing.T) {
	b := open(t, t.TempDir())
	if _, err := b.client.Client.Put(t.Context(), "/registry/a", strings.Repeat("x", 10000)); err != nil {
		t.Fatal(err)
	}
	from, err := b.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	complete, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(complete)
	flipped[9000] ^= 1
	for name, data := range map[string][]byte{
		"empty": {}, "cut": complete[:len(complete)/2], "without SHA-256": complete[:len(complete)-32], "one bit": flipped, "text": []byte("no snapshot"),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.db")
			if err := os.WriteFile(path, []byte("the previous one"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := SaveSnapshot(bytes.NewReader(data), path); err == nil {
				t.Error("saved")
			}
			if kept, _ := os.ReadFile(path); string(kept) != "the previous one" {
				t.Error("the previous snapshot was replaced")
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			target := t.TempDir()
			if _, err := RestoreSnapshot(path, target); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("restored: %v", err)
			}
			if entries, _ := os.ReadDir(target); len(entries) != 0 {
				t.Errorf("the target has %v", entries)
			}
		})
	}
}
