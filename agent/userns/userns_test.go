package userns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/internal/testkit"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestNodeRange(t *testing.T) {
	const valid = "kubelet:131072:7208960\n" // 110 pods
	for name, tc := range map[string]struct {
		users, groups string
		want          Range
		err           string
	}{
		"no entries":         {"root:100000:65536\n", "", Range{65536, 1<<32 - 2*65536}, ""},
		"entries":            {"a:1:2\n" + valid, valid, Range{131072, 7208960}, ""},
		"users only":         {valid, "", Range{}, "must be equal"},
		"other groups":       {valid, "kubelet:196608:7208960\n", Range{}, "must be equal"},
		"two entries":        {valid + valid, valid, Range{}, "must have one entry"},
		"too few IDs":        {"kubelet:65536:65536\n", "kubelet:65536:65536\n", Range{}, "count 65536: must be at least 7208960, for 110 pods of 65536 IDs"},
		"not aligned":        {"kubelet:100000:7208960\n", "kubelet:100000:7208960\n", Range{}, "first ID 100000: must be a positive multiple of 65536"},
		"root":               {"kubelet:0:7208960\n", "kubelet:0:7208960\n", Range{}, "first ID 0: must be a positive multiple"},
		"count not multiple": {"kubelet:65536:7208961\n", "kubelet:65536:7208961\n", Range{}, "count 7208961: must be a multiple"},
		"not a number":       {"kubelet:x:1\n", "", Range{}, `"kubelet:x:1": first ID`},
		"last ID":            {"kubelet:65536:4294836224\n", "kubelet:65536:4294836224\n", Range{65536, 1<<32 - 2*65536}, ""},
		"(uid_t)-1":          {"kubelet:65536:4294901760\n", "", Range{}, "last ID of at most 4294967294"},
		"too large":          {"kubelet:65536:4294967295\n", "", Range{}, "last ID of at most 4294967294"},
		"two fields":         {"kubelet:65536\n", "", Range{}, "USER:FIRST:COUNT"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			users, groups := filepath.Join(dir, "subuid"), filepath.Join(dir, "subgid")
			write(t, users, tc.users)
			if tc.groups != "" {
				write(t, groups, tc.groups)
			}
			got, err := NodeRange(users, groups, DefaultIDsPerPod, 110)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), users) {
					t.Errorf("%v, want an error with the file and %q", err, tc.err)
				}
			} else if err != nil || got != tc.want {
				t.Errorf("%v, %v, want %v", got, err, tc.want)
			}
		})
	}
}

// TestAllocator checks that ranges are disjoint, kept across restarts, and free after the release.
func TestAllocator(t *testing.T) {
	dir := t.TempDir()
	node := Range{First: 1 << 17, Length: 3 << 16}
	open := func() *Allocator {
		t.Helper()
		a, err := NewAllocator(node, DefaultIDsPerPod, dir)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	allocate := func(a *Allocator, pod types.UID) Range {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, string(pod)), 0o755); err != nil {
			t.Fatal(err)
		}
		r, err := a.Allocate(pod)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a := open()
	ranges := map[types.UID]Range{}
	for i := range 3 {
		pod := types.UID(fmt.Sprint("p", i))
		ranges[pod] = allocate(a, pod)
		for other, r := range ranges {
			if other != pod && r.overlaps(ranges[pod]) || r.First < node.First || r.First+r.Length > node.First+node.Length {
				t.Errorf("ranges %v, want disjoint ones within %v", ranges, node)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "p3"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Allocate("p3"); err == nil || !strings.Contains(err.Error(), "all 3 ranges") {
		t.Errorf("fourth range: %v, want all 3 ranges in use", err)
	}
	a = open()
	for pod, r := range ranges {
		if got := allocate(a, pod); got != r {
			t.Errorf("%s after a restart: %v, want %v", pod, got, r)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "p1")); err != nil {
		t.Fatal(err)
	}
	a.Release("p1")
	if got := allocate(a, "p3"); got != ranges["p1"] {
		t.Errorf("range after a release: %v, want the free one %v", got, ranges["p1"])
	}
	// A range of another length, from before a change of the configuration, stays reserved.
	write(t, filepath.Join(dir, "p0", fileName), fmt.Sprintf(`{"uidMappings":[{"hostId":%d,"containerId":0,"length":131072}],"gidMappings":[{"hostId":%[1]d,"containerId":0,"length":131072}]}`, node.First+1<<16))
	for _, pod := range []string{"p2", "p3"} {
		if err := os.RemoveAll(filepath.Join(dir, pod)); err != nil {
			t.Fatal(err)
		}
	}
	if got := allocate(open(), "p4"); got.First != node.First {
		t.Errorf("range %v, want the only one outside of the larger range of p0", got)
	}
	write(t, filepath.Join(dir, "p4", fileName), "{")
	if _, err := NewAllocator(node, DefaultIDsPerPod, dir); err == nil || !strings.Contains(err.Error(), "p4/userns") {
		t.Errorf("invalid file: %v, want an error that names it", err)
	}
}

// TestFileSystems checks that a file system with idmapped mounts is accepted, and that others are named.
func TestFileSystems(t *testing.T) {
	namespace, err := newUserNamespace(Range{DefaultIDsPerPod, DefaultIDsPerPod})
	if err != nil {
		testkit.SkipOrFail(t, "user namespaces", err.Error())
	}
	namespace.Close()
	var f FileSystems
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		testkit.SkipOrFail(t, "root", "mounting a tmpfs: "+err.Error())
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	if err := probe(dir); errors.Is(err, unix.EINVAL) {
		testkit.SkipOrFail(t, "idmapped mounts", "tmpfs of this kernel has none (Linux 6.3)")
	}
	for range 2 {
		if err := f.Check(dir); err != nil {
			t.Errorf("tmpfs: %v, want support", err)
		}
		if err := f.Check("/proc/sys/kernel"); err == nil || !strings.Contains(err.Error(), "/proc/sys/kernel: the file system proc does not support idmapped mounts") {
			t.Errorf("proc: %v, want an error with path and file system", err)
		}
	}
	if err := f.Check(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("missing path: %v, want an error with the path", err)
	}
}

// TestFileSystemsForgetFailures checks that a file system is checked although one that failed had its device number, and
// that a success is kept.
func TestFileSystemsForgetFailures(t *testing.T) {
	var f FileSystems
	dir, probes := t.TempDir(), 0
	result := func(err error) func(string) error {
		return func(string) error { probes++; return err }
	}
	if err := f.check(dir, result(unix.EINVAL)); err == nil || !strings.Contains(err.Error(), "does not support idmapped mounts") {
		t.Errorf("without support: %v, want an error", err)
	}
	for range 2 {
		if err := f.check(dir, result(nil)); err != nil {
			t.Errorf("with support: %v, want no error", err)
		}
	}
	if probes != 2 {
		t.Errorf("%d probes, want 2", probes)
	}
}
