//go:build linux

package serviceproxy

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// settleDelay is how long AwaitUnrouted blocks after this machine's tables no longer have the endpoint. Proxies of
// other machines apply the same change at about the same time, and packets may be in flight.
const settleDelay = 50 * time.Millisecond

// routes counts the Services that send new connections to each endpoint.
type routes struct {
	mu      sync.Mutex
	inUse   map[netip.Addr]int // number of Services by endpoint
	pending map[netip.Addr]int // changes that are not yet in the kernel
	changed chan struct{}      // closed at the next apply
}

func newRoutes() *routes {
	return &routes{inUse: map[netip.Addr]int{}, pending: map[netip.Addr]int{}, changed: make(chan struct{})}
}

// replace records that a Service's rules will change.
func (r *routes) replace(old, updated *fragment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old != nil {
		for a := range old.routed {
			r.pending[a]--
		}
	}
	for a := range updated.routed {
		r.pending[a]++
	}
}

// apply records that all changes are in the kernel.
func (r *routes) apply() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for a, n := range r.pending {
		if r.inUse[a] += n; r.inUse[a] == 0 {
			delete(r.inUse, a)
		}
	}
	clear(r.pending)
	close(r.changed)
	r.changed = make(chan struct{})
}

// uses reports whether a Service sends new connections to one of the addresses, and returns a
// channel that is closed when that may have changed.
func (r *routes) uses(addresses []netip.Addr) (bool, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range addresses {
		if r.inUse[a] > 0 {
			return true, r.changed
		}
	}
	return false, r.changed
}

// AwaitUnrouted blocks until no Service sends new connections to the addresses, or ctx ends. It
// returns at once if none did.
func (p *Proxy) AwaitUnrouted(ctx context.Context, texts []string) {
	var addresses []netip.Addr
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil {
			addresses = append(addresses, a)
		}
	}
	used, changed := p.routes.uses(addresses)
	if !used {
		return
	}
	for used {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		used, changed = p.routes.uses(addresses)
	}
	select {
	case <-ctx.Done():
	case <-time.After(settleDelay):
	}
}
