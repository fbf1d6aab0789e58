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

// Allocator keeps who has which value of a pool, for the whole cluster.
type Allocator interface {
	// Allocate takes a value for owner; it is false if somebody else has it.
	Allocate(ctx context.Context, pool, value, owner string) (bool, error)
	// Release gives it back, if owner has it.
	Release(ctx context.Context, pool, value, owner string) error
	// Allocated returns the owner of every value that is taken.
	Allocated(ctx context.Context, pool string) (map[string]string, error)
}

const (
	clusterIPPool = "serviceips"
	nodePortPool  = "nodeports"

	firstNodePort, lastNodePort = 30000, 32767
	// randomAttempts of random values before a pool is searched for a free one.
	randomAttempts = 16
)

var (
	errAllocated  = errors.New("provided IP is already allocated")
	errOutOfRange = errors.New("the provided network does not match the current range")
	errPortTaken  = errors.New("provided port is already allocated")
	errFull       = errors.New("range is full")
)

// clusterIPAllocator is the range that services get their addresses from.
type clusterIPAllocator struct {
	network   netip.Prefix
	allocator Allocator
}

// size is how many addresses can be given out: all but the network's own and, in IPv4, broadcast.
func (a clusterIPAllocator) size() uint64 {
	bits := a.network.Addr().BitLen() - a.network.Bits()
	if bits > 16 {
		bits = 16 // 65,534 services are enough; the rest of a larger range stays for people who choose
	}
	n := uint64(1)<<bits - 1
	if a.network.Addr().Is4() {
		n--
	}
	return n
}

// reserved is the part at the beginning of the range that is given out only
// when the rest is full, so that chosen addresses rarely collide.
func (a clusterIPAllocator) reserved() uint64 {
	return min(max(16, a.size()/16), 256, a.size()/2)
}

// nth is the nth address, from 0.
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

// allocate claims an address that the user chose.
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

// isKubernetesService says whether an owner is the Service of the API server, for which the first address is kept even while it is not
// there: certificates and pods know it.
func isKubernetesService(owner string) bool { return strings.HasPrefix(owner, "default/kubernetes/") }

// contains says whether an address is one that services may have: in the range, and neither the network's own nor broadcast.
func (a clusterIPAllocator) contains(addr netip.Addr) bool {
	if !a.network.Contains(addr) || addr == a.network.Masked().Addr() {
		return false
	}
	return !addr.Is4() || a.network.Contains(addr.Next())
}

// parseIP reads an address as validation and proxies do: numbers may begin with zeros, which does not make another
// address.
func parseIP(address string) (netip.Addr, bool) {
	addr, ok := netip.AddrFromSlice(utilsnet.ParseIPSloppy(address))
	return addr.Unmap(), ok
}

// allocateNext claims any free address.
func (a clusterIPAllocator) allocateNext(ctx context.Context, owner string) (string, error) {
	low := a.reserved()
	random := func() string { return a.nth(low + rand.Uint64N(a.size()-low)).String() }
	all := func(yield func(string) bool) {
		for n := range a.size() - 1 { // but the first
			if !yield(a.nth(1 + (low-1+n)%(a.size()-1)).String()) {
				return
			}
		}
	}
	return allocateAny(ctx, a.allocator, clusterIPPool, owner, random, all)
}

// allocateNextPort claims any free node port.
func allocateNextPort(ctx context.Context, allocator Allocator, owner string) (int32, error) {
	random := func() string { return strconv.Itoa(firstNodePort + rand.IntN(lastNodePort-firstNodePort+1)) }
	all := func(yield func(string) bool) {
		for port := firstNodePort; port <= lastNodePort; port++ {
			if !yield(strconv.Itoa(port)) {
				return
			}
		}
	}
	value, err := allocateAny(ctx, allocator, nodePortPool, owner, random, all)
	if err != nil {
		return 0, err
	}
	port, err := strconv.Atoi(value)
	return int32(port), err
}

// allocatePort claims a node port that the user chose.
func allocatePort(ctx context.Context, allocator Allocator, port int32, owner string) error {
	if port < firstNodePort || port > lastNodePort {
		return fmt.Errorf("provided port is not in the valid range. The range of valid ports is %d-%d", firstNodePort, lastNodePort)
	}
	free, err := allocator.Allocate(ctx, nodePortPool, strconv.Itoa(int(port)), owner)
	if err == nil && !free {
		err = errPortTaken
	}
	return err
}

// allocateAny tries a few random values, then every one that is not known to be taken.
func allocateAny(ctx context.Context, allocator Allocator, pool, owner string, random func() string, all func(func(string) bool)) (string, error) {
	for range randomAttempts {
		value := random()
		if free, err := allocator.Allocate(ctx, pool, value, owner); err != nil || free {
			return value, err
		}
	}
	taken, err := allocator.Allocated(ctx, pool)
	if err != nil {
		return "", err
	}
	for value := range all {
		if _, found := taken[value]; found {
			continue
		}
		if free, err := allocator.Allocate(ctx, pool, value, owner); err != nil || free {
			return value, err
		}
	}
	return "", errFull
}

// dryRunAllocator claims nothing: what a dry run is given is free now, and stays so.
type dryRunAllocator struct{ from Allocator }

func (u dryRunAllocator) Allocate(ctx context.Context, pool, value, owner string) (bool, error) {
	taken, err := u.Allocated(ctx, pool)
	if err != nil {
		return false, err
	}
	holder, found := taken[value]
	return !found || holder == owner, nil
}

func (u dryRunAllocator) Release(context.Context, string, string, string) error { return nil }

func (u dryRunAllocator) Allocated(ctx context.Context, pool string) (map[string]string, error) {
	return u.from.Allocated(ctx, pool)
}
