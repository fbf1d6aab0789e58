package embedded_test

import (
	"context"
	"net"
	"testing"
)

// TestRemoveNetworkIfUnused checks that the pod network is removed when no pod is left, and
// created again by the next runtime.
func TestRemoveNetworkIfUnused(t *testing.T) {
	r := newHarness(t, true)
	there := func() bool { _, err := net.InterfaceByName(r.Options.Bridge); return err == nil }
	sb, _ := r.createSandbox("stays", nil)
	if err := r.Runtime.RemoveNetworkIfUnused(context.Background()); err != nil || !there() {
		t.Fatalf("removed while a pod needs it: %v, bridge exists: %t", err, there())
	}
	if err := r.Service.RemovePodSandbox(context.Background(), sb); err != nil {
		t.Fatal(err)
	}
	if err := r.Runtime.RemoveNetworkIfUnused(context.Background()); err != nil || there() {
		t.Fatalf("leftovers: %v, bridge exists: %t", err, there())
	}
	r.Restart(t)
	if r.createSandbox("next", nil); !there() {
		t.Error("no bridge for the next agent's pods")
	}
}
