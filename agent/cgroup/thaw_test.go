package cgroup_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/internal/testkit"
)

func TestThaw(t *testing.T)   { checkThaw(t, host(t)) }
func TestV2Thaw(t *testing.T) { checkThaw(t, hostV2(t)) }

// checkThaw checks that Thaw, Kill and Remove work on cgroups that a killed agent left frozen.
func checkThaw(t *testing.T, h *cgroup.Host) {
	file, frozen, thawed := filepath.Join(h.Dir("freezer", "/"), "freezer.state"), "FROZEN", "THAWED"
	if h.Mode == cgroup.V2 {
		file, frozen, thawed = filepath.Join(h.Dir("memory", "/"), "cgroup.freeze"), "1", "0"
	} else if h.Dir("freezer", "/") == "" {
		testkit.SkipOrFail(t, "freezer", "the controller is not mounted")
	}
	top := group(t, h, cgroup.Limits{})
	pod := filepath.Join(top, "pod")
	if err := h.Create(pod, cgroup.Limits{}); err != nil {
		t.Fatal(err)
	}
	run(t, h, pod, "hold", "4096")
	state := filepath.Join(filepath.Dir(file), pod, filepath.Base(file))
	freeze := func() {
		if err := os.WriteFile(state, []byte(frozen), 0o644); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, "the cgroup is frozen", func() bool { text, _ := os.ReadFile(state); return strings.TrimSpace(string(text)) == frozen })
	}
	freeze()
	if err := h.Thaw(top); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the cgroup is thawed", func() bool { text, _ := os.ReadFile(state); return strings.TrimSpace(string(text)) == thawed })
	freeze()
	if err := h.Kill(pod); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := h.Remove(ctx, pod); err != nil {
		t.Fatal(err)
	}
	if err := h.Thaw(pod); err != nil {
		t.Errorf("thawing a removed cgroup: %v, want no error", err)
	}
}

// TestKillKeepsDescendantsFrozen checks that Kill does not thaw the descendants of the cgroup: a
// concurrent Kill may have frozen those.
func TestKillKeepsDescendantsFrozen(t *testing.T) {
	h := host(t)
	if h.Mode == cgroup.V2 || h.Dir("freezer", "/") == "" {
		testkit.SkipOrFail(t, "freezer", "requires the cgroup v1 freezer")
	}
	pod := group(t, h, cgroup.Limits{})
	container := filepath.Join(pod, "container")
	if err := h.Create(container, cgroup.Limits{}); err != nil {
		t.Fatal(err)
	}
	run(t, h, container, "hold", "4096")
	state := filepath.Join(h.Dir("freezer", container), "freezer.state")
	if err := os.WriteFile(state, []byte("FROZEN"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := h.Kill(pod); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(filepath.Dir(state), "freezer.self_freezing")); err != nil || strings.TrimSpace(string(text)) != "1" {
		t.Errorf("freezer.self_freezing of the container is %q (error %v) after killing the pod, want 1", text, err)
	}
	if err := h.Thaw(pod); err != nil {
		t.Fatal(err)
	}
}
