package embedded_test

import (
	"context"
	"net"
	"testing"
)

// TestRemoveNetworkIfUnused checks that the pod network is removed when no pod remains, and
// created again by the next runtime.
func TestRemoveNetworkIfUnused(t *testing.T) {
	r := newHarness(t, true)
	exists := func() bool { _, err := net.InterfaceByName(r.Options.Bridge); return err == nil }
	sb, _ := r.createSandbox("web", nil)
	if err := r.Runtime.RemoveNetworkIfUnused(context.Background()); err != nil || !exists() {
		t.Fatalf("with a pod: %v, bridge exists: %t, want it to exist", err, exists())
	}
	if err := r.Service.RemovePodSandbox(context.Background(), sb); err != nil {
		t.Fatal(err)
	}
	if err := r.Runtime.RemoveNetworkIfUnused(context.Background()); err != nil || exists() {
		t.Fatalf("without pods: %v, bridge exists: %t, want it removed", err, exists())
	}
	r.Restart(t)
	if r.createSandbox("next", nil); !exists() {
		t.Error("no bridge for the next agent's pods")
	}
}
