package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

func open(t *testing.T, dir string) *Backend {
	t.Helper()
	b, err := OpenEmbedded(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func TestEmbeddedKeepsData(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	if _, err := first.client.Client.Put(t.Context(), "/k", "v"); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenEmbedded(t.Context(), dir); err == nil || !strings.Contains(err.Error(), dir+" is in use") {
		t.Errorf("second OpenEmbedded: %v, want an error that names the directory", err)
	}
	first.Close()
	if err := first.Check(t.Context()); err == nil {
		t.Error("Check of a closed store succeeded")
	}
	second := open(t, dir)
	resp, err := second.client.Client.Get(t.Context(), "/k")
	if err != nil || len(resp.Kvs) != 1 || string(resp.Kvs[0].Value) != "v" {
		t.Errorf("object after a restart: got %v and error %v, want v", resp, err)
	}
	if err := second.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAllocations(t *testing.T) {
	b := open(t, t.TempDir())
	allocate := func(value, owner string, want bool) {
		t.Helper()
		if got, err := b.Allocate(t.Context(), "p", value, owner); err != nil || got != want {
			t.Errorf("Allocate(%s) to %s: got %v and error %v, want %v", value, owner, got, err, want)
		}
	}
	allocate("1", "a", true)
	allocate("1", "a", true) // the same owner may allocate again
	allocate("1", "b", false)
	allocate("2", "b", true)
	if released, err := b.Release(t.Context(), "p", "1", "b"); err != nil || released {
		t.Errorf("Release by another owner: got %v and error %v, want false", released, err)
	}
	allocate("1", "b", false)
	if released, err := b.Release(t.Context(), "p", "1", "a"); err != nil || !released {
		t.Errorf("Release by the owner: got %v and error %v, want true", released, err)
	}
	allocate("1", "b", true)
	owners, err := b.Allocated(t.Context(), "p")
	if err != nil || len(owners) != 2 || owners["1"] != "b" || owners["2"] != "b" {
		t.Errorf("got owners %v and error %v, want 1 and 2 of b", owners, err)
	}
}

func TestOpenExternalReportsMissingCAFile(t *testing.T) {
	ctx := t.Context()
	_, err := OpenExternal(ctx, ExternalConfig{Servers: []string{"http://127.0.0.1:1"}, CAFile: "no-such-file"})
	if err == nil || !strings.Contains(err.Error(), "no-such-file") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

// TestFullStoreIsDefragmented checks that a full store reports why it rejects writes. It is writable again after a
// restart.
func TestFullStoreIsDefragmented(t *testing.T) {
	const quota = 16 << 20
	dir := t.TempDir()
	b, err := openEmbedded(t.Context(), dir, quota)
	if err != nil {
		t.Fatal(err)
	}
	put := func() error {
		_, err := b.client.Client.Put(t.Context(), "/big", strings.Repeat("x", 1<<20))
		return err
	}
	for n := 0; ; n++ {
		if err = put(); err != nil {
			break
		}
		if n > 4*quota>>20 {
			t.Fatalf("%d MiB were written, want an error at %d MiB", n, quota>>20)
		}
	}
	if err := b.CheckWritable(); err == nil || !strings.Contains(err.Error(), "rejects writes") {
		t.Errorf("readiness of a full store: %v, want rejects writes", err)
	}
	if err := b.Check(t.Context()); err != nil {
		t.Errorf("liveness of a full store: %v, want no error", err)
	}
	b.Close()
	if b, err = openEmbedded(t.Context(), dir, quota); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := errors.Join(b.Check(t.Context()), b.CheckWritable()); err != nil {
		t.Errorf("health after a restart: %v, want no error", err)
	}
	if err := put(); err != nil {
		t.Errorf("put after a restart: %v, want no error", err)
	}
}

// TestStoreFullOfLiveObjectsAcceptsWritesAfterDeletes checks that a store that is full of live objects is not
// defragmented, which would block deletes without effect. After deletes it accepts writes again.
func TestStoreFullOfLiveObjectsAcceptsWritesAfterDeletes(t *testing.T) {
	const quota = 16 << 20
	dir := t.TempDir()
	server, err := startMember(t.Context(), dir, quota, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	d, client := &defragmenter{server: server, quota: quota}, v3client.New(server)
	key := func(n int) string { return fmt.Sprint("/big/", n) }
	n := 0
	put := func() error {
		n++
		_, err := client.Put(t.Context(), key(n), strings.Repeat("x", 256<<10))
		return err
	}
	// The first rounds reclaim pages that etcd's commits have freed.
	for range 10 {
		for err = nil; err == nil && n < 4*quota>>18; err = put() {
		}
		if err := d.reclaim(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d.spaceError() != nil {
			break
		}
	}
	if d.spaceError() == nil {
		t.Fatalf("the store is not full after %d objects: %v", n, err)
	}
	databaseInfo := func() fs.FileInfo {
		info, err := os.Stat(filepath.Join(dir, "member", "snap", "db"))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	original := databaseInfo()
	for range 3 {
		if err := d.reclaim(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !os.SameFile(original, databaseInfo()) {
		t.Error("the store was defragmented without effect")
	}
	if d.spaceError() == nil || put() == nil {
		t.Error("the store accepts writes while live objects fill it")
	}
	// etcd accepts writes until its next commit, so the objects can exceed the quota several times. A quarter of it remains.
	for i := range n - quota/4>>18 {
		if _, err := client.Delete(t.Context(), key(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	// Pages that a concurrent read transaction uses become free when it ends.
	for range 50 {
		if err := d.reclaim(t.Context()); err != nil || d.spaceError() == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := errors.Join(d.reclaim(t.Context()), d.spaceError(), put()); err != nil {
		t.Errorf("after most objects were deleted: %v, want no error", err)
	}
	if os.SameFile(original, databaseInfo()) {
		t.Error("the file was not replaced by a smaller one")
	}
}
