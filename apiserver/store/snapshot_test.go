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

func TestSnapshotRestoresObjects(t *testing.T) {
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
		t.Errorf("got status %+v, want 2 keys at revision %d", status, before.Header.Revision)
	}
	put("/registry/pods/c", "after the snapshot")
	if _, err := RestoreSnapshot(path, dir); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("restore into a running store: %v, want is in use", err)
	}
	b.Close()
	if _, err := RestoreSnapshot(path, dir); err == nil || !strings.Contains(err.Error(), "has a store") {
		t.Errorf("restore over a store: %v, want has a store", err)
	}
	target := t.TempDir()
	// These files are what an interrupted restore leaves.
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
		t.Errorf("Check of the restored store: got %+v and error %v, want an intact store", result, err)
	}
	b = open(t, target)
	resp, err := b.client.Client.Get(t.Context(), "/registry/pods/", clientv3.WithPrefix())
	if err != nil || len(resp.Kvs) != 2 || string(resp.Kvs[0].Value) != "1" || string(resp.Kvs[1].Value) != "2" {
		t.Errorf("got restored objects %v and error %v, want the values 1 and 2", resp, err)
	}
	// A client with a revision of the discarded history must list again.
	if resp.Header.Revision <= status.Revision+1000 {
		t.Errorf("got revision %d after the restore, want far more than %d", resp.Header.Revision, status.Revision)
	}
	put("/registry/pods/d", "4")
}

// TestDamagedSnapshotIsRejected checks that a snapshot that is incomplete or damaged does not replace a file, and
// cannot be restored.
func TestDamagedSnapshotIsRejected(t *testing.T) {
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
		"empty": {}, "truncated": complete[:len(complete)/2], "without SHA-256": complete[:len(complete)-32], "flipped bit": flipped, "text": []byte("no snapshot"),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.db")
			if err := os.WriteFile(path, []byte("previous snapshot"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := SaveSnapshot(bytes.NewReader(data), path); err == nil {
				t.Error("SaveSnapshot returned no error for a damaged snapshot")
			}
			if data, err := os.ReadFile(path); err != nil || string(data) != "previous snapshot" {
				t.Errorf("got file %q and error %v, want the previous snapshot", data, err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			target := t.TempDir()
			if _, err := RestoreSnapshot(path, target); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("RestoreSnapshot: got error %v, want an error with the path", err)
			}
			if entries, err := os.ReadDir(target); err != nil || len(entries) != 0 {
				t.Errorf("got entries %v in the target directory and error %v, want none", entries, err)
			}
		})
	}
}
