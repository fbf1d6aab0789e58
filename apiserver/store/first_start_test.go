package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// changeDatabase changes the database of a store that no process uses.
func changeDatabase(t *testing.T, path string, change func(*bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Update(change); err != nil {
		t.Fatal(err)
	}
}

// TestStartAfterInterruptedFirstStart checks that the next start completes the store after a process has ended at
// any point of its first start.
func TestStartAfterInterruptedFirstStart(t *testing.T) {
	createBuckets := func(names ...[]byte) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			for _, name := range names {
				if _, err := tx.CreateBucket(name); err != nil {
					return err
				}
			}
			return nil
		}
	}
	withLog := func(t *testing.T, dir, path string) {
		populate(t, dir, 10)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, prepare := range map[string]func(t *testing.T, dir, path string){
		"empty database": func(t *testing.T, _, path string) {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"no bucket":  func(t *testing.T, _, path string) { changeDatabase(t, path, createBuckets()) },
		"no objects": func(t *testing.T, _, path string) { changeDatabase(t, path, createBuckets(schema.Meta.Name())) },
		"partial log": func(t *testing.T, dir, path string) {
			changeDatabase(t, path, createBuckets(schema.Meta.Name()))
			if err := os.MkdirAll(filepath.Join(dir, "etcd", "member", "wal.tmp"), 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"log, empty database": func(t *testing.T, dir, path string) {
			withLog(t, dir, path)
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"log, no objects": func(t *testing.T, dir, path string) {
			withLog(t, dir, path)
			changeDatabase(t, path, createBuckets(schema.Meta.Name(), schema.Cluster.Name()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := databasePath(filepath.Join(dir, "etcd"))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			prepare(t, dir, path)
			if result, err := Check(dir); err != nil || result.Intact {
				t.Errorf("Check before the start: got %+v and error %v, want damage", result, err)
			}
			b, err := OpenEmbedded(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := b.client.Client.Get(t.Context(), "/registry/pods/0009")
			if err == nil && strings.HasPrefix(name, "log") != (len(resp.Kvs) == 1) {
				t.Errorf("got objects %v, want the object if there is a log", resp.Kvs)
			}
			if _, putErr := b.client.Client.Put(t.Context(), "/k", "v"); err != nil || putErr != nil {
				t.Errorf("read and write after the start: got errors %v and %v, want none", err, putErr)
			}
			b.Close()
			if result, err := Check(dir); err != nil || !result.Intact {
				t.Errorf("Check after the start: got %+v and error %v, want an intact store", result, err)
			}
		})
	}
}

// TestOpenFailsWithoutObjects checks that a store that was in use does not open without its objects, although etcd
// would start.
func TestOpenFailsWithoutObjects(t *testing.T) {
	dir := t.TempDir()
	populate(t, dir, 10)
	path := databasePath(filepath.Join(dir, "etcd"))
	changeDatabase(t, path, func(tx *bolt.Tx) error { return tx.DeleteBucket(schema.Key.Name()) })
	if _, err := OpenEmbedded(t.Context(), dir); err == nil || !strings.Contains(err.Error(), `bucket "key" is missing`) {
		t.Errorf("OpenEmbedded without objects: %v, want an error that names the bucket", err)
	}
}
