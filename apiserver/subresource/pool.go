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

// Claims keeps who has which value of a pool, for the whole cluster.
type Claims interface {
	// Claim takes a value for owner; it is false if somebody else has it.
	Claim(ctx context.Context, pool, value, owner string) (bool, error)
	// Release gives it back, if owner has it.
	Release(ctx context.Context, pool, value, owner string) error
	// Claims returns the owner of every value that is taken.
	Claims(ctx context.Context, pool string) (map[string]string, error)
}

const (
	addressPool  = "serviceips"
	nodePortPool = "nodeports"

	firstNodePort, lastNodePort = 30000, 32767
	// tries of random values before a pool is searched for a free one.
	tries = 16
)

var (
	errAllocated = errors.New("provided IP is already allocated")
	errOutside   = errors.New("the provided network does not match the current range")
	errPortTaken = errors.New("provided port is already allocated")
	errFull      = errors.New("range is full")
)

// addresses is the range that services get their addresses from.
type addresses struct {
	network netip.Prefix
	claims  Claims
}

// size is how many addresses can be given out: all but the network's own and, in IPv4, broadcast.
func (a addresses) size() uint64 {
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
func (a addresses) reserved() uint64 {
	return min(max(16, a.size()/16), 256, a.size()/2)
}

// at is the nth address, from 0.
func (a addresses) at(n uint64) netip.Addr {
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

// take claims an address that the user chose.
func (a addresses) take(ctx context.Context, address, owner string) error {
	addr, ok := canonical(address)
	if !ok || !a.gives(addr) {
		return errOutside
	}
	if addr == a.at(0) && !ofServer(owner) {
		return errAllocated
	}
	free, err := a.claims.Claim(ctx, addressPool, addr.String(), owner)
	if err == nil && !free {
		err = errAllocated
	}
	return err
}

// ofServer says whether an owner is the Service of the API server, for which the first address is kept even while it is not
// there: certificates and pods know it.
func ofServer(owner string) bool { return strings.HasPrefix(owner, "default/kubernetes/") }

// gives says whether an address is one that services may have: in the range, and neither the network's own nor broadcast.
func (a addresses) gives(addr netip.Addr) bool {
	if !a.network.Contains(addr) || addr == a.network.Masked().Addr() {
		return false
	}
	return !addr.Is4() || a.network.Contains(addr.Next())
}

// canonical reads an address as validation and proxies do: numbers may begin with zeros, which does not make another
// address.
func canonical(address string) (netip.Addr, bool) {
	addr, ok := netip.AddrFromSlice(utilsnet.ParseIPSloppy(address))
	return addr.Unmap(), ok
}

// next claims any free address.
func (a addresses) next(ctx context.Context, owner string) (string, error) {
	low := a.reserved()
	random := func() string { return a.at(low + rand.Uint64N(a.size()-low)).String() }
	all := func(yield func(string) bool) {
		for n := range a.size() - 1 { // but the first
			if !yield(a.at(1 + (low-1+n)%(a.size()-1)).String()) {
				return
			}
		}
	}
	return nextOf(ctx, a.claims, addressPool, owner, random, all)
}

// nextPort claims any free node port.
func nextPort(ctx context.Context, claims Claims, owner string) (int32, error) {
	random := func() string { return strconv.Itoa(firstNodePort + rand.IntN(lastNodePort-firstNodePort+1)) }
	all := func(yield func(string) bool) {
		for port := firstNodePort; port <= lastNodePort; port++ {
			if !yield(strconv.Itoa(port)) {
				return
			}
		}
	}
	value, err := nextOf(ctx, claims, nodePortPool, owner, random, all)
	if err != nil {
		return 0, err
	}
	port, err := strconv.Atoi(value)
	return int32(port), err
}

// takePort claims a node port that the user chose.
func takePort(ctx context.Context, claims Claims, port int32, owner string) error {
	if port < firstNodePort || port > lastNodePort {
		return fmt.Errorf("provided port is not in the valid range. The range of valid ports is %d-%d", firstNodePort, lastNodePort)
	}
	free, err := claims.Claim(ctx, nodePortPool, strconv.Itoa(int(port)), owner)
	if err == nil && !free {
		err = errPortTaken
	}
	return err
}

// nextOf tries a few random values, then every one that is not known to be taken.
func nextOf(ctx context.Context, claims Claims, pool, owner string, random func() string, all func(func(string) bool)) (string, error) {
	for range tries {
		value := random()
		if free, err := claims.Claim(ctx, pool, value, owner); err != nil || free {
			return value, err
		}
	}
	taken, err := claims.Claims(ctx, pool)
	if err != nil {
		return "", err
	}
	for value := range all {
		if _, found := taken[value]; found {
			continue
		}
		if free, err := claims.Claim(ctx, pool, value, owner); err != nil || free {
			return value, err
		}
	}
	return "", errFull
}

// unsaved claims nothing: what a dry run is given is free now, and stays so.
type unsaved struct{ from Claims }

func (u unsaved) Claim(ctx context.Context, pool, value, owner string) (bool, error) {
	taken, err := u.Claims(ctx, pool)
	if err != nil {
		return false, err
	}
	holder, found := taken[value]
	return !found || holder == owner, nil
}

func (u unsaved) Release(context.Context, string, string, string) error { return nil }

func (u unsaved) Claims(ctx context.Context, pool string) (map[string]string, error) {
	return u.from.Claims(ctx, pool)
}
