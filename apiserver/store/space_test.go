package store

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"
)

const mib = 1 << 20

// fakeDisk is a file system of 10 GiB, whose threshold is 256 MiB.
type fakeDisk struct {
	now       time.Time
	available int64
	err       error
}

func (d *fakeDisk) measure(string) (usage, error) {
	return usage{size: 10 << 30, available: d.available}, d.err
}

func (d *fakeDisk) guard(dir string) *spaceGuard {
	return newSpaceGuard(dir, d.measure, func() time.Time { return d.now })
}

func (d *fakeDisk) set(available int64) {
	d.available = available
	d.now = d.now.Add(spaceInterval)
}

func TestSpaceLevels(t *testing.T) {
	d := &fakeDisk{available: 1 << 30}
	g := d.guard(t.TempDir())
	for _, step := range []struct {
		available int64
		want      spaceLevel
	}{
		{300 * mib, spaceOK}, {255 * mib, spaceLow}, {257 * mib, spaceLow}, {289 * mib, spaceOK},
		{63 * mib, spaceCritical}, {66 * mib, spaceCritical}, {73 * mib, spaceLow},
		{17 * mib, spaceCritical}, {15 * mib, spaceFull}, {17 * mib, spaceFull}, {19 * mib, spaceCritical}, {0, spaceFull}, {1 << 30, spaceOK},
	} {
		d.set(step.available)
		for level := spaceOK; level <= spaceFull; level++ {
			if err := g.admit(0, level); (err == nil) != (level >= step.want) {
				t.Errorf("%d MiB available: a write that is accepted up to level %d: %v, want level %d", step.available/mib, level, err, step.want)
			}
		}
	}
	d.set(255 * mib)
	g.refresh(true)
	g.refresh(true) // discard earlier writes
	err := g.check()
	if err == nil || !strings.Contains(err.Error(), g.dir) || !strings.Contains(err.Error(), "255 MiB available, less than the threshold of 256 MiB") {
		t.Errorf("check: got error %v, want directory, available space and threshold", err)
	}
	d.err = errors.New("no such file system")
	d.set(1 << 30)
	if g.check() == nil {
		t.Error("the store is writable although the file system cannot be measured")
	}
}

// TestSpaceCountsBurst checks that writes between two measurements count, so that a burst does not pass the
// threshold.
func TestSpaceCountsBurst(t *testing.T) {
	d := &fakeDisk{available: 300 * mib}
	g := d.guard(t.TempDir())
	admitted := int64(0)
	for range 100 {
		if g.admit(mib, spaceOK) == nil {
			admitted += 2 * mib
		}
	}
	if admitted < 40*mib || admitted > 44*mib {
		t.Errorf("got %d MiB admitted in a burst of writes, want 40 to 44 MiB", admitted/mib)
	}
	d.set(300 * mib) // the file system does not show the writes yet
	if g.admit(mib, spaceOK) == nil {
		t.Error("writes that may not be on disk yet are not counted")
	}
	d.set(300 * mib)
	if err := g.admit(mib, spaceOK); err != nil {
		t.Errorf("admit after the next measurement: %v, want no error", err)
	}
}

func TestSpaceReserveIsReleasedWhenDiskIsFull(t *testing.T) {
	d := &fakeDisk{available: 2 << 30}
	g := d.guard(t.TempDir())
	reserve := func() int64 {
		g.updateReserve()
		info, err := os.Stat(filepath.Join(g.dir, "etcd-reserve"))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	for _, step := range []struct{ available, want int64 }{
		{500 * mib, 0}, {1 << 30, 64 * mib}, {100 * mib, 64 * mib}, {10 * mib, 0}, {100 * mib, 0}, {1 << 30, 64 * mib},
	} {
		d.set(step.available)
		if got := reserve(); got != step.want {
			t.Errorf("%d MiB available: got a reserve of %d MiB, want %d", step.available/mib, got/mib, step.want/mib)
		}
	}
	d.set(mib)
	g.refresh(true)
	err := g.prepareStart(true)
	if err == nil || !strings.Contains(err.Error(), "1 MiB available") || strings.Contains(err.Error(), "\n") {
		t.Errorf("prepareStart on a full file system: %v, want one line with the available space", err)
	}
	if reserve() != 0 {
		t.Error("prepareStart did not remove the reserve")
	}
}

func requestContext(ctx context.Context, verb, subresource string) context.Context {
	return request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: verb, Resource: "pods", Subresource: subresource})
}

// TestReadOnlyStoreAcceptsEssentialWrites checks that a store on a nearly full file system accepts only writes that
// free space, or that nodes and components need. It accepts all writes when space is available again.
func TestReadOnlyStoreAcceptsEssentialWrites(t *testing.T) {
	d := &fakeDisk{now: time.Now(), available: 1 << 30}
	dir := t.TempDir()
	b, err := openLocked(t.Context(), dir, quotaBytes, d.measure, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	put := func(verb, subresource, key, value string) error {
		ctx := t.Context()
		if verb != "" {
			ctx = requestContext(ctx, verb, subresource)
		}
		_, err := b.client.KV.Txn(ctx).Then(clientv3.OpPut(key, value)).Commit()
		return err
	}
	if err := put("create", "", "/registry/pods/a/b", "0123456789"); err != nil {
		t.Fatal(err)
	}
	guard := guardOf(t, b)
	set := func(available int64) {
		guard.mu.Lock()
		defer guard.mu.Unlock()
		d.available = available
		guard.refresh(true)
		guard.refresh(true) // discard earlier writes
	}
	type write struct {
		verb, subresource, key, value string
		maxLevel                      spaceLevel
	}
	writes := []write{
		{"create", "", "/registry/pods/a/c", "x", spaceOK},
		{"", "", "/registry/claims/p/1", "x", spaceOK},
		{"update", "", "/registry/pods/a/b", "0123456789+", spaceOK},
		{"patch", "", "/registry/pods/a/b", "012345678", spaceLow},
		{"patch", "status", "/registry/pods/a/b", "0123456789", spaceLow},
		{"create", "eviction", "/registry/pods/a/b", "0123456789", spaceLow},
		{"update", "finalize", "/registry/namespaces/a", "0123456789", spaceLow},
		{"delete", "", "/registry/pods/a/b", "0123456789", spaceCritical},
		{"deletecollection", "", "/registry/pods/a/b", "0123456789", spaceCritical},
		{"update", "", "/registry/leases/kube-node-lease/n", "x", spaceCritical},
		{"create", "", "/registry/leases/kube-system/scheduler", "x", spaceCritical},
		{"create", "", "/registry/leases/kube-node-lease/large", strings.Repeat("x", maxLeaseBytes), spaceOK},
		{"create", "", "/registry/leases/a/n", "x", spaceOK},
		{"create", "", "/registry/leases/kube-system-a/n", "x", spaceOK},
		{"", "", "compact_rev_key", "1", spaceCritical},
	}
	for level, available := range []int64{1 << 30, 200 * mib, 30 * mib, 10 * mib} {
		set(available)
		for _, w := range writes {
			err := put(w.verb, w.subresource, w.key, w.value)
			if accepted := err == nil; accepted != (w.maxLevel >= spaceLevel(level)) {
				t.Errorf("%d MiB available: %s %s of %s: %v, want accepted %t", available/mib, w.verb, w.subresource, w.key, err, !accepted)
			}
			var status apierrors.APIStatus
			if err != nil && (!errors.As(err, &status) || status.Status().Code != http.StatusInsufficientStorage) {
				t.Errorf("got error %v, want an API error with code 507", err)
			}
		}
		if readOnly := b.CheckWritable() != nil; readOnly != (level > 0) {
			t.Errorf("%d MiB available: got read-only %t, want %t", available/mib, readOnly, level > 0)
		}
	}
	if _, err := b.client.KV.Txn(t.Context()).Then(clientv3.OpDelete("/registry/pods/a/b")).Commit(); err != nil {
		t.Errorf("delete: %v, want no error", err)
	}
	set(1 << 30)
	if err := put("create", "", "/registry/pods/a/d", "x"); err != nil {
		t.Errorf("create after space was freed: %v, want no error", err)
	}
}

// guardOf returns the guard of an embedded store.
func guardOf(t *testing.T, b *Backend) *spaceGuard {
	t.Helper()
	if b.space == nil {
		t.Fatal("the store has no guard")
	}
	return b.space
}
