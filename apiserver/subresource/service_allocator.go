package subresource

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
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
	// Allocated returns the owners of all allocated values.
	Allocated(ctx context.Context, pool string) (map[string]string, error)
}

const (
	clusterIPPool = "serviceips"
	nodePortPool  = "nodeports"

	firstNodePort, lastNodePort = 30000, 32767
	// randomAttempts is the number of random values to try before searching the pool.
	randomAttempts = 16
)

var (
	errAllocated     = errors.New("provided IP is already allocated")
	errOutOfRange    = errors.New("the provided network does not match the current range")
	errPortAllocated = errors.New("provided port is already allocated")
	errFull          = errors.New("range is full")
)

// clusterIPAllocator allocates cluster IPs from a range.
type clusterIPAllocator struct {
	network   netip.Prefix
	allocator Allocator
}

// size returns the number of usable addresses: all but the network address and, for IPv4, the
// broadcast address.
func (a clusterIPAllocator) size() uint64 {
	bits := a.network.Addr().BitLen() - a.network.Bits()
	if bits > 16 {
		bits = 16 // 65,534 services are enough; users may request any address of a larger range
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
	if !ok || !a.contains(addr) {
		return errOutOfRange
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

// allocateNext allocates any free address.
func (a clusterIPAllocator) allocateNext(ctx context.Context, owner string) (string, error) {
	reserved := a.reserved()
	random := func() string { return a.nth(reserved + rand.Uint64N(a.size()-reserved)).String() }
	values := func(yield func(string) bool) {
		for n := range a.size() - 1 { // all except the first
			if !yield(a.nth(1 + (reserved-1+n)%(a.size()-1)).String()) {
				return
			}
		}
	}
	return allocateAny(ctx, a.allocator, clusterIPPool, owner, random, values)
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
	value, err := allocateAny(ctx, allocator, nodePortPool, owner, random, values)
	if err != nil {
		return 0, err
	}
	port, err := strconv.Atoi(value)
	return int32(port), err
}

// allocatePort allocates a node port that the user requested.
func allocatePort(ctx context.Context, allocator Allocator, port int32, owner string) error {
	if port < firstNodePort || port > lastNodePort {
		return fmt.Errorf("provided port is not in the valid range. The range of valid ports is %d-%d", firstNodePort, lastNodePort)
	}
	free, err := allocator.Allocate(ctx, nodePortPool, strconv.Itoa(int(port)), owner)
	if err == nil && !free {
		err = errPortAllocated
	}
	return err
}

// allocateAny tries a few random values, then every value that is not allocated.
func allocateAny(ctx context.Context, allocator Allocator, pool, owner string, random func() string, values func(func(string) bool)) (string, error) {
	for range randomAttempts {
		value := random()
		if free, err := allocator.Allocate(ctx, pool, value, owner); err != nil || free {
			return value, err
		}
	}
	allocated, err := allocator.Allocated(ctx, pool)
	if err != nil {
		return "", err
	}
	for value := range values {
		if _, ok := allocated[value]; ok {
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
	allocated, err := d.Allocated(ctx, pool)
	if err != nil {
		return false, err
	}
	current, ok := allocated[value]
	return !ok || current == owner, nil
}

func (d dryRunAllocator) Release(context.Context, string, string, string) (bool, error) {
	return false, nil
}

func (d dryRunAllocator) Allocated(ctx context.Context, pool string) (map[string]string, error) {
	return d.allocator.Allocated(ctx, pool)
}
