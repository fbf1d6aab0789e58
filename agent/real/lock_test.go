package real

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

func TestOneAgentADirectory(t *testing.T) {
	root := t.TempDir()
	unlock, err := lock(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(root); err == nil || !strings.Contains(err.Error(), root) || !strings.Contains(err.Error(), "in use by another agent") {
		t.Errorf("a second agent is told %v", err)
	}
	unlock()
	if unlock, err = lock(root); err != nil {
		t.Errorf("the next one is told %v", err)
	} else {
		unlock()
	}
}

// TestKeptName: an agent's directory says what its node was called last.
func TestKeptName(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"", "a", "b"} {
		if name != "" {
			if err := keepName(root, name); err != nil {
				t.Fatal(err)
			}
		}
		if kept := KeptName(root); kept != name {
			t.Errorf("kept: %q, want %q", kept, name)
		}
	}
}

func TestOneAgentACgroup(t *testing.T) {
	host, err := cgroup.Find()
	group := "/berth-lock-" + strconv.Itoa(os.Getpid())
	if err == nil {
		err = host.Make(group, cgroup.Limits{})
	}
	if err != nil {
		testkit.Skip(t, "cgroups", err.Error())
	}
	defer func() { _ = host.Remove(t.Context(), group) }()
	unlock, err := lockCgroup(host, group)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockCgroup(host, group); err == nil || !strings.Contains(err.Error(), group) || !strings.Contains(err.Error(), "of another agent") {
		t.Errorf("a second agent is told %v", err)
	}
	unlock()
	if unlock, err = lockCgroup(host, group); err != nil {
		t.Errorf("the next one is told %v", err)
	} else {
		unlock()
	}
}

func TestSomethingIsLeftForPods(t *testing.T) {
	list := func(memory, storage string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourceEphemeralStorage: resource.MustParse(storage)}
	}
	for _, c := range []struct{ memory, storage, want string }{
		{"1Gi", "1Gi", ""},
		{"0", "1Gi", "evictionHard[memory.available]: together they take all of the node's memory (2Gi)"},
		{"1Gi", "0", "evictionHard[nodefs.available]: together they take all of the node's ephemeral-storage (4Gi)"},
	} {
		err := left("n", list("2Gi", "4Gi"), list(c.memory, c.storage))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("memory %s, storage %s: %v, want %q", c.memory, c.storage, err, c.want)
		}
	}
}

// TestWhatRanPods: an agent's directory says which runtime has pods of its node.
func TestWhatRanPods(t *testing.T) {
	root := t.TempDir()
	if RanCRI(root) || RanEmbedded(root) {
		t.Error("a directory that is new has pods")
	}
	if err := (&Options{Root: root, Endpoint: "unix:///x"}).keepRuntime(); err != nil || !RanCRI(root) {
		t.Errorf("after a runtime that speaks CRI: %v", err)
	}
	for range 2 {
		if err := (&Options{Root: root, Embedded: &Embedded{}}).keepRuntime(); err != nil || RanCRI(root) {
			t.Errorf("after the embedded runtime: %v", err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "runtime", "sandboxes", "s"), 0o700); err != nil || !RanEmbedded(root) {
		t.Errorf("with a sandbox of the embedded runtime: %v", err)
	}
}

// TestANameIsWrittenWhole: a disk that is full leaves the name that was.
func TestANameIsWrittenWhole(t *testing.T) {
	root := t.TempDir()
	if err := keepName(root, "first"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", filepath.Join(root, nameFile+".new")); err != nil {
		t.Fatal(err)
	}
	if err := keepName(root, "second"); err == nil || KeptName(root) != "first" {
		t.Errorf("it is called %q: %v", KeptName(root), err)
	}
	if err := keepName(root, "second"); err != nil || KeptName(root) != "second" {
		t.Errorf("with room again it is called %q: %v", KeptName(root), err)
	}
}
