package embedded_test

import (
	"context"
	"net"
	"testing"
)

// The pods' network goes with the agent when no pod is left, and comes with the next one.
func TestLeaveNetwork(t *testing.T) {
	r := newRig(t, true)
	there := func() bool { _, err := net.InterfaceByName(r.Options.Bridge); return err == nil }
	box, _ := r.box("stays", nil)
	if err := r.Runtime.LeaveNetwork(context.Background()); err != nil || !there() {
		t.Fatalf("left while a pod needs it: %v, bridge there: %t", err, there())
	}
	if err := r.Service.RemovePodSandbox(context.Background(), box); err != nil {
		t.Fatal(err)
	}
	if err := r.Runtime.LeaveNetwork(context.Background()); err != nil || there() {
		t.Fatalf("left: %v, bridge there: %t", err, there())
	}
	r.Restart(t)
	if r.box("next", nil); !there() {
		t.Error("no bridge for the next agent's pods")
	}
}
