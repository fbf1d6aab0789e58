package subresource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	utilsnet "k8s.io/utils/net"
)

// Allocator allocates values of a pool, cluster-wide.
type Allocator interface {
	// Allocate allocates a value to owner. It returns false if another owner has it.
	Allocate(ctx context.Context, pool, value, owner string) (bool, error)
	// Release releases a value if owner has it, and reports whether it did.
	Release(ctx context.Context, pool, value, owner string) (bool, error)
	// Owner returns the owner of a value, or "".
	Owner(ctx context.Context, pool, value string) (string, error)
	// Allocated returns the owners of all allocated values.
	Allocated(ctx context.Context, pool string) (map[string]string, error)
}

const (
	clusterIPPool = "serviceips"
	nodePortPool  = "nodeports"

	firstNodePort, lastNodePort = 30000, 32767
	// randomAttempts is the number of random values that allocateAny tries before it searches the pool.
	randomAttempts = 16
	// maxBits is the number of address bits of a range that vary in automatic allocations. 65,534 services are enough,
	// and users may request any address of a larger range. For further ranges, which may overlap a full one, it is
	// maxFurtherBits.
	maxBits, maxFurtherBits = 16, 20
)

var (
	errAllocated      = errors.New("provided IP is already allocated")
	errOutOfRange     = errors.New("the provided network does not match the current range")
	errPortAllocated  = errors.New("provided port is already allocated")
	errPortOutOfRange = fmt.Errorf("provided port is not in the valid range. The range of valid ports is %d-%d", firstNodePort, lastNodePort)
	errFull           = errors.New("range is full")
)

// clusterIPAllocator allocates cluster IPs from a range. It uses further ranges when the range is full or a user requests
// an address in one of them.
type clusterIPAllocator struct {
	network   netip.Prefix
	maxBits   int // the number of address bits that vary in automatic allocations
	allocator Allocator
	further   func(context.Context) ([]netip.Prefix, error) // nil if there are none
}

// furtherRanges returns allocators of the further ranges of the same IP family.
func (a clusterIPAllocator) furtherRanges(ctx context.Context) ([]clusterIPAllocator, error) {
	if a.further == nil {
		return nil, nil
	}
	networks, err := a.further(ctx)
	if err != nil {
		return nil, err
	}
	var ranges []clusterIPAllocator
	for _, network := range networks {
		r := clusterIPAllocator{network: network.Masked(), maxBits: maxFurtherBits, allocator: a.allocator}
		if r.network.Addr().Is4() == a.network.Addr().Is4() && r.network != a.network && r.size() > 0 {
			ranges = append(ranges, r)
		}
	}
	return ranges, nil
}

// size returns the number of usable addresses: all but the network address and, for IPv4, the
// broadcast address.
func (a clusterIPAllocator) size() uint64 {
	bits := min(a.network.Addr().BitLen()-a.network.Bits(), a.maxBits)
	if bits < 2 {
		return 0
	}
	n := uint64(1)<<bits - 1
	if a.network.Addr().Is4() {
		n--
	}
	return n
}

// reserved returns the size of the lower part of the range. It is allocated automatically only when
// the upper part is full, so that requested addresses rarely collide.
func (a clusterIPAllocator) reserved() uint64 {
	return min(max(16, a.size()/16), 256, a.size()/2)
}

// nth returns the nth usable address, starting at 0.
func (a clusterIPAllocator) nth(n uint64) netip.Addr {
	raw := a.network.Masked().Addr().AsSlice()
	carry := n + 1
	for i := len(raw) - 1; i >= 0 && carry > 0; i-- {
		carry += uint64(raw[i])
		raw[i] = byte(carry)
		carry >>= 8
	}
	addr, _ := netip.AddrFromSlice(raw)
	return addr
}

// allocate allocates an address that the user requested.
func (a clusterIPAllocator) allocate(ctx context.Context, address, owner string) error {
	addr, ok := parseIP(address)
	if !ok {
		return errOutOfRange
	}
	if contained, err := a.containsAnywhere(ctx, addr); err != nil || !contained {
		return cmp.Or(err, errOutOfRange)
	}
	if addr == a.nth(0) && !isKubernetesService(owner) {
		return errAllocated
	}
	free, err := a.allocator.Allocate(ctx, clusterIPPool, addr.String(), owner)
	if err == nil && !free {
		err = errAllocated
	}
	return err
}

// containsAnywhere reports whether the range or a further one contains the address.
func (a clusterIPAllocator) containsAnywhere(ctx context.Context, addr netip.Addr) (bool, error) {
	if a.contains(addr) {
		return true, nil
	}
	ranges, err := a.furtherRanges(ctx)
	return slices.ContainsFunc(ranges, func(r clusterIPAllocator) bool { return r.contains(addr) }), err
}

// isKubernetesService reports whether the owner is the kubernetes Service. The first address is
// always reserved for it, because certificates contain it.
func isKubernetesService(owner string) bool { return strings.HasPrefix(owner, "default/kubernetes/") }

// contains reports whether services may have the address: it is in the range and neither the
// network address nor the broadcast address.
func (a clusterIPAllocator) contains(addr netip.Addr) bool {
	if !a.network.Contains(addr) || addr == a.network.Masked().Addr() {
		return false
	}
	return !addr.Is4() || a.network.Contains(addr.Next())
}

// parseIP parses an address like validation and proxies do: leading zeros are accepted and ignored.
func parseIP(address string) (netip.Addr, bool) {
	addr, ok := netip.AddrFromSlice(utilsnet.ParseIPSloppy(address))
	return addr.Unmap(), ok
}

// allocateNext allocates any free address, of a further range if the range is full.
func (a clusterIPAllocator) allocateNext(ctx context.Context, owner string) (string, error) {
	address, err := a.allocateNextFrom(ctx, owner, a.nth(0))
	if !errors.Is(err, errFull) {
		return address, err
	}
	ranges, err := a.furtherRanges(ctx)
	if err != nil {
		return "", err
	}
	for _, r := range ranges {
		if address, err := r.allocateNextFrom(ctx, owner, a.nth(0)); !errors.Is(err, errFull) {
			return address, err
		}
	}
	return "", errFull
}

// allocateNextFrom allocates any free address of the range itself, except for the one of the kubernetes Service.
func (a clusterIPAllocator) allocateNextFrom(ctx context.Context, owner string, kubernetes netip.Addr) (string, error) {
	reserved, size := a.reserved(), a.size()
	random := func() string { return a.nth(reserved + rand.Uint64N(size-reserved)).String() }
	values := func(yield func(string) bool) {
		for n := range size {
			if !yield(a.nth((reserved + n) % size).String()) {
				return
			}
		}
	}
	return allocateAny(ctx, a.allocator, clusterIPPool, owner, kubernetes.String(), random, values)
}

// allocateNextPort allocates any free node port.
func allocateNextPort(ctx context.Context, allocator Allocator, owner string) (int32, error) {
	random := func() string { return strconv.Itoa(firstNodePort + rand.IntN(lastNodePort-firstNodePort+1)) }
	values := func(yield func(string) bool) {
		for port := firstNodePort; port <= lastNodePort; port++ {
			if !yield(strconv.Itoa(port)) {
				return
			}
		}
	}
	value, err := allocateAny(ctx, allocator, nodePortPool, owner, "", random, values)
	if err != nil {
		return 0, err
	}
	port, err := strconv.Atoi(value)
	return int32(port), err
}

// allocatePort allocates a node port that the user requested.
func allocatePort(ctx context.Context, allocator Allocator, port int32, owner string) error {
	if port < firstNodePort || port > lastNodePort {
		return errPortOutOfRange
	}
	free, err := allocator.Allocate(ctx, nodePortPool, strconv.Itoa(int(port)), owner)
	if err == nil && !free {
		err = errPortAllocated
	}
	return err
}

// allocateAny tries a few random values, then every value that is not allocated, but never the excluded one.
func allocateAny(ctx context.Context, allocator Allocator, pool, owner, excluded string, random func() string, values func(func(string) bool)) (string, error) {
	for range randomAttempts {
		value := random()
		if value == excluded {
			continue
		}
		if free, err := allocator.Allocate(ctx, pool, value, owner); err != nil || free {
			return value, err
		}
	}
	allocated, err := allocator.Allocated(ctx, pool)
	if err != nil {
		return "", err
	}
	for value := range values {
		if _, ok := allocated[value]; ok || value == excluded {
			continue
		}
		if free, err := allocator.Allocate(ctx, pool, value, owner); err != nil || free {
			return value, err
		}
	}
	return "", errFull
}

// dryRunAllocator does not allocate: Allocate reports whether the value is free.
type dryRunAllocator struct{ allocator Allocator }

func (d dryRunAllocator) Allocate(ctx context.Context, pool, value, owner string) (bool, error) {
	current, err := d.Owner(ctx, pool, value)
	return current == "" || current == owner, err
}

func (d dryRunAllocator) Release(context.Context, string, string, string) (bool, error) {
	return false, nil
}

func (d dryRunAllocator) Owner(ctx context.Context, pool, value string) (string, error) {
	return d.allocator.Owner(ctx, pool, value)
}

func (d dryRunAllocator) Allocated(ctx context.Context, pool string) (map[string]string, error) {
	return d.allocator.Allocated(ctx, pool)
}
