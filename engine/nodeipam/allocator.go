package nodeipam

import (
	"errors"
	"fmt"
	"net/netip"
)

// Options configures an Allocator.
type Options struct {
	// Cluster is the IPv4 network from which ranges are allocated.
	Cluster netip.Prefix
	// Bits is the prefix length of a range.
	Bits int
	// Start is the index of the first range to allocate, modulo the number of ranges.
	Start uint32
	// Reserved are networks that no range may overlap, such as that of Services.
	Reserved []netip.Prefix
}

// maxRangeBits bounds the number of ranges of a cluster, as in kube-controller-manager.
const maxRangeBits = 16

// Validate returns an error if no ranges can be allocated with the options.
func (o *Options) Validate() error {
	switch {
	case !o.Cluster.IsValid() || !o.Cluster.Addr().Is4() || o.Cluster != o.Cluster.Masked():
		return fmt.Errorf("cluster CIDR %q: must be an IPv4 CIDR without host bits, such as 10.128.0.0/9", o.Cluster)
	case o.Bits <= 0 || o.Bits > 30 || o.Bits < o.Cluster.Bits():
		return fmt.Errorf("node CIDR mask size %d: must be between the cluster CIDR's prefix length, %d, and 30", o.Bits, o.Cluster.Bits())
	case o.Bits-o.Cluster.Bits() > maxRangeBits:
		return fmt.Errorf("node CIDR mask size %d: must be at most %d for cluster CIDR %s: a cluster has at most %d ranges", o.Bits, o.Cluster.Bits()+maxRangeBits, o.Cluster, 1<<maxRangeBits)
	}
	return nil
}

// ErrExhausted means that no range is free.
var ErrExhausted = errors.New("no range of the cluster CIDR is free")

// Allocator holds the ranges of all nodes. It is not safe for concurrent use.
type Allocator struct {
	opts   Options
	count  uint32
	next   uint32                    // index of the range to try first
	claims map[string][]netip.Prefix // by node
	users  map[uint32]int            // by index of a range: claims and reservations that overlap it
	last   map[string]netip.Prefix   // last range of deleted nodes
}

// New returns an Allocator without claims. The options must be valid.
func New(o Options) *Allocator {
	a := &Allocator{opts: o, count: 1 << (o.Bits - o.Cluster.Bits()), claims: map[string][]netip.Prefix{}, users: map[uint32]int{}, last: map[string]netip.Prefix{}}
	a.next = o.Start % a.count
	for _, p := range o.Reserved {
		a.use(p, 1)
	}
	return a
}

// Reserve prevents the allocation of ranges that overlap the network. It does nothing if the range of a node
// overlaps the network.
func (a *Allocator) Reserve(network netip.Prefix) {
	for _, owned := range a.claims {
		if overlapAny(owned, []netip.Prefix{network}) {
			return
		}
	}
	a.use(network, 1)
}

// RangeOf returns the range that contains an address. It returns false if the address is outside of the
// cluster's CIDR.
func (a *Allocator) RangeOf(address netip.Addr) (netip.Prefix, bool) {
	if !a.opts.Cluster.Contains(address) {
		return netip.Prefix{}, false
	}
	p, err := address.Prefix(a.opts.Bits)
	return p, err == nil
}

// Claim records the ranges in a node's spec, in place of earlier ones. It returns the first other node by name
// whose ranges overlap them, or "" if there is none.
func (a *Allocator) Claim(node string, ranges []netip.Prefix) (other string) {
	a.removeClaims(node)
	if a.mayOverlap(ranges) {
		for name, owned := range a.claims {
			if overlapAny(owned, ranges) && (other == "" || name < other) {
				other = name
			}
		}
	}
	for _, p := range ranges {
		a.use(p, 1)
	}
	if len(ranges) > 0 {
		a.claims[node] = ranges
	}
	return other
}

// mayOverlap reports whether other nodes may have claimed an address of the ranges. It avoids comparing a
// new range with those of all nodes.
func (a *Allocator) mayOverlap(ranges []netip.Prefix) bool {
	for _, p := range ranges {
		if p.Bits() != a.opts.Bits || !a.opts.Cluster.Contains(p.Addr()) || a.users[a.index(p.Addr())] > 0 {
			return true
		}
	}
	return false
}

// Claimed returns the node's range. It returns false if the node has none.
func (a *Allocator) Claimed(node string) (netip.Prefix, bool) {
	if owned := a.claims[node]; len(owned) > 0 {
		return owned[0], true
	}
	return netip.Prefix{}, false
}

// Allocate claims a free range for a node without one. It prefers the last range of a deleted node of that name.
// inUse reports whether pods of other nodes have addresses in a range.
func (a *Allocator) Allocate(node string, inUse func(netip.Prefix) bool) (netip.Prefix, error) {
	if p, ok := a.last[node]; ok && a.users[a.index(p.Addr())] == 0 && !inUse(p) {
		a.Claim(node, []netip.Prefix{p})
		return p, nil
	}
	for i := range a.count {
		index := (a.next + i) % a.count
		p := a.rangeAt(index)
		if a.users[index] > 0 || inUse(p) {
			continue
		}
		a.next = (index + 1) % a.count
		a.Claim(node, []netip.Prefix{p})
		return p, nil
	}
	return netip.Prefix{}, fmt.Errorf("%w: %s has only %d ranges of prefix length %d", ErrExhausted, a.opts.Cluster, a.count, a.opts.Bits)
}

// Release removes the claims of a deleted node.
func (a *Allocator) Release(node string) {
	if p, ok := a.Claimed(node); ok && p.Bits() == a.opts.Bits && a.opts.Cluster.Contains(p.Addr()) {
		if len(a.last) > int(a.count) { // limits the memory for deleted nodes
			clear(a.last)
		}
		a.last[node] = p
	}
	a.removeClaims(node)
}

func (a *Allocator) removeClaims(node string) {
	for _, p := range a.claims[node] {
		a.use(p, -1)
	}
	delete(a.claims, node)
}

// use adds delta, 1 or -1, to the number of users of all ranges that p overlaps.
func (a *Allocator) use(p netip.Prefix, delta int) {
	if !p.Overlaps(a.opts.Cluster) {
		return
	}
	first, count := uint32(0), a.count
	if p.Bits() > a.opts.Cluster.Bits() {
		first = a.index(p.Addr())
		count = 1 << max(a.opts.Bits-p.Bits(), 0)
	}
	for i := first; i < first+count; i++ {
		if a.users[i] += delta; a.users[i] <= 0 {
			delete(a.users, i)
		}
	}
}

// index returns the index of the range that contains the address.
func (a *Allocator) index(address netip.Addr) uint32 {
	return (toUint(address) - toUint(a.opts.Cluster.Addr())) >> (32 - a.opts.Bits)
}

func (a *Allocator) rangeAt(index uint32) netip.Prefix {
	v := toUint(a.opts.Cluster.Addr()) + index<<(32-a.opts.Bits)
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), a.opts.Bits)
}

func toUint(address netip.Addr) uint32 {
	b := address.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

func overlapAny(a, b []netip.Prefix) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Overlaps(y) {
				return true
			}
		}
	}
	return false
}
