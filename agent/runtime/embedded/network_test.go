package embedded_test

import (
	"context"
	"net"
	"testing"
)

// TestRemoveNetworkIfUnused checks that the pod network is removed when no pod remains, and
// created again by the next runtime.
func TestRemoveNetworkIfUnused(t *testing.T) {
	h := newHarness(t, true)
	exists := func() bool { _, err := net.InterfaceByName(h.Options.Bridge); return err == nil }
	sb, _ := h.createSandbox("web", nil)
	if err := h.Runtime.RemoveNetworkIfUnused(context.Background()); err != nil || !exists() {
		t.Fatalf("with a pod: %v, bridge exists: %t, want it to exist", err, exists())
	}
	if err := h.Service.RemovePodSandbox(context.Background(), sb); err != nil {
		t.Fatal(err)
	}
	if err := h.Runtime.RemoveNetworkIfUnused(context.Background()); err != nil || exists() {
		t.Fatalf("without pods: %v, bridge exists: %t, want it removed", err, exists())
	}
	h.Restart(t)
	if h.createSandbox("next", nil); !exists() {
		t.Error("the bridge does not exist after the next runtime created a pod, want it to exist")
	}
}
