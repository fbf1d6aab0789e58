//go:build linux

package nodeagent

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/internal/testkit"
)

func TestDirectoryLock(t *testing.T) {
	root := t.TempDir()
	unlock, err := lock(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(root); err == nil || !strings.Contains(err.Error(), root) || !strings.Contains(err.Error(), "in use by another agent") {
		t.Errorf("lock of a second agent: %v, want an error that it is in use", err)
	}
	unlock()
	if unlock, err = lock(root); err != nil {
		t.Errorf("lock after the unlock: %v, want no error", err)
	} else {
		unlock()
	}
}

// TestSavedName checks that the name of the node is saved in the agent's directory.
func TestSavedName(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"", "a", "b"} {
		if name != "" {
			if err := saveName(root, name); err != nil {
				t.Fatal(err)
			}
		}
		if saved := SavedName(root); saved != name {
			t.Errorf("SavedName = %q, want %q", saved, name)
		}
	}
}

func TestCgroupLock(t *testing.T) {
	host, err := cgroup.Detect()
	group := "/berth-lock-" + strconv.Itoa(os.Getpid())
	if err == nil {
		err = host.Create(group, cgroup.Limits{})
	}
	if err != nil {
		testkit.SkipOrFail(t, "cgroups", err.Error())
	}
	defer func() { _ = host.Remove(t.Context(), group) }()
	unlock, err := lockCgroup(host, group)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockCgroup(host, group); err == nil || !strings.Contains(err.Error(), group) || !strings.Contains(err.Error(), "by another agent") {
		t.Errorf("lock of a second agent: %v, want an error that it is in use", err)
	}
	unlock()
	if unlock, err = lockCgroup(host, group); err != nil {
		t.Errorf("lock after the unlock: %v, want no error", err)
	} else {
		unlock()
	}
}

func TestCheckAllocatable(t *testing.T) {
	list := func(memory, storage string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourceEphemeralStorage: resource.MustParse(storage)}
	}
	for _, c := range []struct{ memory, storage, want string }{
		{"1Gi", "1Gi", ""},
		{"0", "1Gi", "evictionHard[memory.available]: the sum exceeds the node's memory (2Gi)"},
		{"1Gi", "0", "evictionHard[nodefs.available]: the sum exceeds the node's ephemeral-storage (4Gi)"},
	} {
		err := checkAllocatable("n", list("2Gi", "4Gi"), list(c.memory, c.storage))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("memory %s, storage %s: %v, want %q", c.memory, c.storage, err, c.want)
		}
	}
}

// TestUsedRuntime checks that the agent's directory records which runtime ran its pods.
func TestUsedRuntime(t *testing.T) {
	root := t.TempDir()
	if UsedCRI(root) || UsedEmbedded(root) {
		t.Error("UsedCRI or UsedEmbedded of a new directory is true, want false")
	}
	if err := (&Options{Root: root, Endpoint: "unix:///x"}).saveRuntime(); err != nil || !UsedCRI(root) {
		t.Errorf("UsedCRI after a CRI runtime: %v, %v, want true", UsedCRI(root), err)
	}
	for range 2 {
		if err := (&Options{Root: root, Embedded: &Embedded{}}).saveRuntime(); err != nil || UsedCRI(root) {
			t.Errorf("UsedCRI after the embedded runtime: %v, %v, want false", UsedCRI(root), err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "runtime", "sandboxes", "s"), 0o700); err != nil || !UsedEmbedded(root) {
		t.Errorf("UsedEmbedded with a sandbox: %v, %v, want true", UsedEmbedded(root), err)
	}
}

// TestSaveNameIsAtomic checks that saveName keeps the previous name if the disk is full.
func TestSaveNameIsAtomic(t *testing.T) {
	root := t.TempDir()
	if err := saveName(root, "first"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", filepath.Join(root, nodeNameFile+".new")); err != nil {
		t.Fatal(err)
	}
	if err := saveName(root, "second"); err == nil || SavedName(root) != "first" {
		t.Errorf("saved name %q with error %v, want first and an error", SavedName(root), err)
	}
	if err := saveName(root, "second"); err != nil || SavedName(root) != "second" {
		t.Errorf("saved name %q, %v, want second", SavedName(root), err)
	}
}
