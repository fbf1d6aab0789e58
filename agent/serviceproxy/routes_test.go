//go:build linux

package serviceproxy

import (
	"context"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// TestAwaitUnrouted checks that AwaitUnrouted returns after the rules without the endpoint are in the
// kernel, not before.
func TestAwaitUnrouted(t *testing.T) {
	p := New(Options{})
	a, b := netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.1.0.2")
	fragmentOf := func(aState string) *fragment {
		return newFragment(service(nil), slice(corev1.ProtocolTCP, endpointOn("n1", a, aState), endpointOn("n1", b, "ready")), discoveryv1.AddressTypeIPv4, testLocation)
	}
	p.AwaitUnrouted(t.Context(), []string{"10.1.0.1"}) // no Service uses it
	before, after := fragmentOf("ready"), fragmentOf("serving")
	p.routes.replace(nil, before)
	p.routes.apply()
	done := make(chan struct{})
	go func() {
		p.AwaitUnrouted(t.Context(), []string{"10.1.0.1"})
		close(done)
	}()
	p.routes.replace(before, after)
	if used, _ := p.routes.uses([]netip.Addr{a}); !used {
		t.Error("uses is false before apply, want true")
	}
	p.routes.apply()
	<-done
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	p.AwaitUnrouted(canceled, []string{"10.1.0.2"}) // returns although the endpoint is in use
	p.routes.replace(after, emptyFragment())
	p.routes.apply()
	if len(p.routes.inUse) != 0 {
		t.Errorf("addresses in use after the deletion of the Service: %v, want none", p.routes.inUse)
	}
}
