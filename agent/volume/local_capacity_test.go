package volume

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	storage "k8s.io/component-helpers/storage/volume"

	"github.com/berthproject/berth/agent/loopdisk"
	"github.com/berthproject/berth/agent/mounts"
	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/internal/testkit"
)

// provisionedClaim returns a claim of 10 MiB as Berth's provisioner creates it.
func provisionedClaim(t *testing.T) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pv")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	claim, pv := boundClaim("db", dir)
	pv.Annotations = map[string]string{storage.AnnDynamicallyProvisioned: v1alpha1.LocalProvisioner, v1alpha1.VolumeImageAnnotation: "true"}
	pv.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Mi")}
	return claim, pv, dir
}

// requireLoop skips the test without loop devices.
func requireLoop(t *testing.T) {
	t.Helper()
	if err := loopdisk.CheckRequirements(); err != nil {
		testkit.SkipOrFail(t, "loop devices", err.Error())
	}
}

// fillDir writes up to n bytes and returns how many fit.
func fillDir(t *testing.T, dir string, n int) (int, error) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "data"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	written, block := 0, make([]byte, 1<<20)
	for ; written < n; written += len(block) {
		if _, err := f.Write(block); err != nil {
			return written, err
		}
	}
	return written, nil
}

// TestSoakClaimCapacity writes 100 MiB to a claim of 10 MiB that two pods use. The claim must be full at
// its capacity, keep its data, and be mounted once, with nosuid and nodev.
func TestSoakClaimCapacity(t *testing.T) {
	runs := testkit.SoakRuns(1, 10)
	for range runs {
		claim, pv, dir := provisionedClaim(t)
		h := newFixture(t, claim, pv)
		requireLoop(t)
		first, second := podWith(claimVolume("data", "db")), podWith(claimVolume("data", "db"))
		second.UID = "second"
		h.prepare(first)
		h.prepare(second)
		if n, err := fillDir(t, dir, 100<<20); !errors.Is(err, unix.ENOSPC) || n < 8<<20 || n > 10<<20 {
			t.Errorf("wrote %d bytes, %v; want ENOSPC after 8 to 10 MiB", n, err)
		}
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err != nil || s.Flags&unix.ST_NOSUID == 0 || s.Flags&unix.ST_NODEV == 0 {
			t.Errorf("mounted with flags %x, %v; want nosuid and nodev", s.Flags, err)
		}
		if u := usages(t, h, first)["data"]; u.Capacity <= 8<<20 || u.Capacity > 10<<20 || u.Bytes < 8<<20 || u.Limit != 0 {
			t.Errorf("usage %+v, want 8 to 10 MiB and no limit", u)
		}
		for i, pod := range []*corev1.Pod{first, second} {
			if points, _ := mounts.At(dir); len(points) != 1 {
				t.Errorf("%d mounts before the teardown of pod %d, want 1", len(points), i)
			}
			if err := h.Teardown(pod.UID); err != nil {
				t.Fatal(err)
			}
		}
		if points, err := mounts.At(dir); len(points) != 0 || err != nil {
			t.Errorf("mounts after the teardown %v, %v, want none", points, err)
		}
		h.restart(h.opts.Root)
		h.prepare(first)
		if info, err := os.Stat(filepath.Join(dir, "data")); err != nil || info.Size() < 8<<20 {
			t.Errorf("file in the claim: %v, %v, want at least 8 MiB", info, err)
		}
		if err := h.Teardown(first.UID); err != nil {
			t.Fatal(err)
		}
	}
	if !t.Failed() {
		t.Logf("soak: %d fills of a claim of 10 MiB with 100 MiB, all stopped at its capacity", runs)
	}
}

// TestClaimWithoutImage checks volumes of earlier versions, whose data is in a plain directory. The
// agent keeps the data and measures its size. The volume is read-only while it exceeds the capacity.
func TestClaimWithoutImage(t *testing.T) {
	claim, pv, dir := provisionedClaim(t)
	delete(pv.Annotations, v1alpha1.VolumeImageAnnotation)
	h := newFixture(t, claim, pv)
	var events []string
	h.opts.Event = func(_ *corev1.Pod, _, reason, message string) { events = append(events, reason+": "+message) }
	pod := podWith(claimVolume("data", "db"))
	for _, tc := range []struct {
		bytes    int
		readOnly bool
		event    string
	}{
		{4 << 20, false, "its data is in a plain directory): the agent measures the usage"},
		{12 << 20, true, "bytes are in use, so the volume is read-only"},
	} {
		if n, err := fillDir(t, dir, tc.bytes); n != tc.bytes {
			t.Fatal(err)
		}
		h.prepare(pod)
		m, _, err := h.Mounts(pod, &pod.Spec.Containers[0], nil)
		if err != nil || m[0].Readonly != tc.readOnly {
			t.Errorf("mounts with %d bytes %v, %v, want read-only %v", tc.bytes, m, err, tc.readOnly)
		}
		if last := events[len(events)-1]; !strings.Contains(last, tc.event) {
			t.Errorf("event %s, want %s", last, tc.event)
		}
		if u := usages(t, h, pod)["data"]; u.Limit != 10<<20 || u.Bytes < int64(tc.bytes) || u.Capacity != 10<<20 || u.Local {
			t.Errorf("usage %+v, want at least %d bytes with a limit and capacity of 10 MiB", u, tc.bytes)
		}
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err != nil || s.Flags&unix.ST_NOSUID == 0 {
			t.Errorf("mounted with flags %x, %v; want nosuid", s.Flags, err)
		}
		if err := h.Teardown(pod.UID); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClaimLeavesSpace checks that a claim whose capacity would fill the disk is rejected.
func TestClaimLeavesSpace(t *testing.T) {
	claim, pv, dir := provisionedClaim(t)
	h := newFixture(t, claim, pv)
	requireLoop(t)
	h.opts.DiskReserve = func(_ string, capacity int64) (int64, error) { return capacity, nil }
	err := h.Prepare(context.Background(), podWith(claimVolume("data", "db")))
	if err == nil || !strings.Contains(err.Error(), "reserving 10Mi on the file system of "+dir) {
		t.Fatalf("Prepare: %v, want an error about the reserved bytes", err)
	}
	// A retry after a write to the disk has the same message, which then is no new event.
	message := regexp.MustCompile(` (\d+)([KMG]i)? are available`)
	found := message.FindStringSubmatch(err.Error())
	if found == nil {
		t.Fatalf("Prepare: %v, want the available space", err)
	}
	if available := resource.MustParse(found[1] + found[2]); available.Value()%(256<<20) != 0 {
		t.Errorf("Prepare: %v, want the available space in units of 256Mi", err)
	}
	if remaining, _ := filepath.Glob(dir + ".*"); len(remaining) > 0 {
		t.Errorf("remaining files %v, want none", remaining)
	}
}

// TestClaimTotal checks that the claims of a virtual node together fit on its disk. Claims that have a disk image already
// keep it.
func TestClaimTotal(t *testing.T) {
	claim, pv, dir := provisionedClaim(t)
	h := newFixture(t, claim, pv)
	requireLoop(t)
	h.opts.ClaimBytes = 12 << 20
	other := filepath.Join(filepath.Dir(dir), "other"+v1alpha1.VolumeImageSuffix)
	if err := os.WriteFile(other, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	pod := podWith(claimVolume("data", "db"))
	err := h.Prepare(context.Background(), pod)
	if want := "reserving 10Mi: the claims of the node reserve 4Mi, and its disk has 12Mi"; err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("Prepare: %v, want %s", err, want)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	h.prepare(pod)
	if err := h.Teardown(pod.UID); err != nil {
		t.Fatal(err)
	}
	h.opts.ClaimBytes = 1 << 20
	h.prepare(pod)
	if err := h.Teardown(pod.UID); err != nil {
		t.Fatal(err)
	}
}
