package cgroup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthproject/berth/agent/cgroup"
)

// TestV1Controllers checks in which hierarchies Create creates a cgroup: not in those of other software, nor in those
// that are not mounted.
func TestV1Controllers(t *testing.T) {
	for mounted, want := range map[string]string{
		"memory cpu cpuacct pids freezer blkio devices": "memory cpu cpuacct pids freezer blkio",
		"memory cpu cpuacct pids":                       "memory cpu cpuacct pids",
	} {
		root, mounts := t.TempDir(), ""
		for _, controller := range strings.Fields(mounted) {
			mounts += "1 2 0:1 / /" + controller + " rw - cgroup cgroup rw," + controller + "\n"
		}
		proc := filepath.Join(root, "proc/self")
		if err := os.MkdirAll(proc, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, "mountinfo"), []byte(mounts), 0o644); err != nil {
			t.Fatal(err)
		}
		h, err := cgroup.DetectAt(root)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Create("/pod1", cgroup.Limits{}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, dir := range h.JoinDirs("/pod1") {
			if _, err := os.Stat(dir); err != nil {
				t.Error(err)
			}
			got = append(got, filepath.Base(filepath.Dir(dir)))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("mounted %s: the cgroup is in %s, want %s", mounted, got, want)
		}
		if _, err := os.Stat(filepath.Join(root, "devices/pod1")); err == nil {
			t.Error("the cgroup is in the hierarchy devices, want it to be in the managed ones only")
		}
	}
}

// TestV2DelegatesIO checks that Create enables the controller io, which counts reads and writes.
func TestV2DelegatesIO(t *testing.T) {
	h, root := copyRecorded(t)
	dir := filepath.Join(root, "sys/fs/cgroup")
	if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := h.Create("/pod1", cgroup.Limits{}); err != nil {
		t.Fatal(err)
	}
	// Each write replaces the beginning of the recorded file.
	if text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control")); err != nil || !strings.HasPrefix(string(text), "+io") {
		t.Errorf("got subtree_control %q, %v, want +io as the last write", text, err)
	}
}
