package nodeipam_test

import (
	"errors"
	"fmt"
	"math/rand"
	"net/netip"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/nodeipam"
)

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func neverInUse(netip.Prefix) bool { return false }

// TestAllocateInOrder checks the order of ranges, their reuse, and the start.
func TestAllocateInOrder(t *testing.T) {
	a := nodeipam.New(nodeipam.Options{Cluster: prefix("10.0.0.0/22"), Bits: 24, Start: 5, Reserved: []netip.Prefix{prefix("10.0.3.128/25")}})
	a.Claim("old", []netip.Prefix{prefix("10.0.2.64/26")})
	allocate := func(node, want string) {
		t.Helper()
		if got, err := a.Allocate(node, neverInUse); err != nil || got.String() != want {
			t.Fatalf("%s: %v, %v, want %s", node, got, err, want)
		}
	}
	allocate("a", "10.0.1.0/24")
	allocate("b", "10.0.0.0/24") // .2 is claimed in part, .3 reserved
	if _, err := a.Allocate("c", neverInUse); !errors.Is(err, nodeipam.ErrExhausted) || !strings.Contains(err.Error(), "10.0.0.0/22 has only 4 ranges of prefix length 24") {
		t.Fatalf("allocation without a free range: error %v, want ErrExhausted with the number of ranges", err)
	}
	a.Release("b")
	a.Release("a")
	allocate("a", "10.0.1.0/24") // a node that returns gets its range again
	allocate("d", "10.0.0.0/24")
	inUse := func(p netip.Prefix) bool { return p == prefix("10.0.1.0/24") }
	a.Release("a")
	if got, err := a.Allocate("a", inUse); err == nil {
		t.Errorf("allocated %s, in which pods have addresses; want an error", got)
	}
	a.Release("old")
	allocate("e", "10.0.1.0/24")
	allocate("f", "10.0.2.0/24")
}

// TestClaimReportsOverlap checks that overlapping claims are reported, inside and outside of the cluster's CIDR.
func TestClaimReportsOverlap(t *testing.T) {
	a := nodeipam.New(nodeipam.Options{Cluster: prefix("10.0.0.0/22"), Bits: 24})
	for _, c := range []struct{ node, ranges, other string }{
		{"a", "10.0.0.0/24", ""}, {"b", "10.0.0.0/24", "a"}, {"a", "10.0.1.0/24", ""}, {"b", "10.0.0.0/24", ""},
		{"c", "192.0.2.0/24", ""}, {"d", "192.0.2.128/25", "c"}, {"e", "10.0.0.0/8", "a"}, {"f", "fd00::/64", ""}, {"e", "10.0.2.0/26", ""}, {"g", "10.0.2.64/26", ""},
	} {
		if got := a.Claim(c.node, []netip.Prefix{prefix(c.ranges)}); got != c.other {
			t.Errorf("claiming %s for %s overlaps %q, want %q", c.ranges, c.node, got, c.other)
		}
	}
	if p, ok := a.RangeOf(netip.MustParseAddr("10.0.2.7")); !ok || p != prefix("10.0.2.0/24") {
		t.Errorf("RangeOf(10.0.2.7) = %v, %t, want 10.0.2.0/24, true", p, ok)
	}
	if _, ok := a.RangeOf(netip.MustParseAddr("10.0.4.7")); ok {
		t.Error("RangeOf(10.0.4.7) returned true for an address outside of the cluster CIDR, want false")
	}
}

func TestValidate(t *testing.T) {
	for text, bits := range map[string]int{"10.0.0.0/8": 24, "10.128.0.0/9": 25, "10.0.0.0/24": 24} {
		o := nodeipam.Options{Cluster: prefix(text), Bits: bits}
		if err := o.Validate(); err != nil {
			t.Errorf("%s /%d: %v, want no error", text, bits, err)
		}
	}
	for _, c := range []struct {
		text string
		bits int
		want string
	}{
		{"10.0.0.1/8", 24, "must be an IPv4 CIDR without host bits"}, {"fd00::/48", 64, "must be an IPv4 CIDR"}, {"10.0.0.0/24", 16, "must be between the cluster CIDR's prefix length, 24, and 30"},
		{"10.0.0.0/24", 31, "and 30"}, {"10.0.0.0/8", 26, "must be at most 24"},
	} {
		o := nodeipam.Options{Cluster: prefix(c.text), Bits: c.bits}
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s /%d: %v, want %q", c.text, c.bits, err, c.want)
		}
	}
}

// TestAllocatedRangesAreDisjoint compares the allocator with a list of all ranges, in random order of operations.
func TestAllocatedRangesAreDisjoint(t *testing.T) {
	for seed := range int64(50) {
		r := rand.New(rand.NewSource(seed))
		a := nodeipam.New(nodeipam.Options{Cluster: prefix("10.0.0.0/20"), Bits: 24, Start: r.Uint32()})
		owned, inUse := map[string]netip.Prefix{}, map[netip.Prefix]bool{}
		for range 300 {
			node := fmt.Sprintf("n%d", r.Intn(24))
			p, hasRange := owned[node]
			switch {
			case hasRange && r.Intn(2) == 0:
				a.Release(node)
				delete(owned, node)
				inUse[p] = r.Intn(3) == 0
			case hasRange:
			case r.Intn(5) == 0: // a manifest with a range
				p = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(r.Intn(20)), byte(r.Intn(2) * 128)}), 25)
				a.Claim(node, []netip.Prefix{p})
				owned[node] = p
			default:
				p, err := a.Allocate(node, func(p netip.Prefix) bool { return inUse[p] })
				if err != nil {
					checkExhausted(t, owned, inUse)
					continue
				}
				for other, q := range owned {
					if p.Overlaps(q) {
						t.Fatalf("seed %d: %s got %s, which overlaps %s of %s, want disjoint ranges", seed, node, p, q, other)
					}
				}
				if inUse[p] {
					t.Fatalf("seed %d: %s got %s, in which pods have addresses, want an unused range", seed, node, p)
				}
				owned[node] = p
			}
		}
	}
}

// checkExhausted fails the test if a range is neither claimed nor in use.
func checkExhausted(t *testing.T, owned map[string]netip.Prefix, inUse map[netip.Prefix]bool) {
	t.Helper()
next:
	for i := range 16 {
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 0}), 24)
		if inUse[p] {
			continue
		}
		for _, q := range owned {
			if p.Overlaps(q) {
				continue next
			}
		}
		t.Fatalf("Allocate failed, want %s, which is free", p)
	}
}
