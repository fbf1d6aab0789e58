package embedded_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/internal/testkit/container"
)

// TestFullDisk checks that a container that has filled its disk exits as usual, also after a restart of the agent. The
// removal of the container frees the space.
func TestFullDisk(t *testing.T) {
	for resource, script := range map[string]string{
		"blocks": "dd if=/dev/zero of=/fill bs=64k 2>/dev/null; dd if=/dev/zero of=/more bs=512 2>/dev/null; echo full; exec sleep 1000",
		"inodes": "i=0; while touch /$i 2>/dev/null; do i=$((i+1)); done; echo full; exec sleep 1000",
	} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			disk := container.Disk(t, 96<<20, 700)
			h := &harness{container.StartEmbedded(t, false, func(o *embedded.Options) { o.Dir = filepath.Join(disk, "c") }), t}
			h.LoadWorkload(t)
			sb, sandboxConfig := h.createSandbox("full", nil)
			c := shell("c", script)
			id := h.run(sb, sandboxConfig, c)
			h.waitUntil("the disk is full", func() bool { return strings.Contains(h.output(sandboxConfig, c), "full") })
			h.Restart(t)
			if _, err := store.Open(h.Options.Images.Dir(), store.Options{Limits: store.Limits{MinFree: -1}}); err != nil {
				t.Errorf("opening the image store on the full disk: %v, want no error", err)
			}
			if err := h.Service.StopContainer(context.Background(), id, 0); err != nil {
				t.Fatal(err)
			}
			if s := h.WaitExited(t, id); s.ExitCode != 137 || s.Reason != "Error" {
				t.Errorf("exited with %d %s, want 137 Error", s.ExitCode, s.Reason)
			}
			if err := h.Service.RemovePodSandbox(context.Background(), sb); err != nil {
				t.Fatal(err)
			}
		})
	}
}
