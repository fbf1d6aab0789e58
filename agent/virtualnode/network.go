//go:build linux

package virtualnode

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
)

// The subnets of nodes are the /24 networks in 10.192.0.0/11.
const (
	firstSubnetOctet = 192
	subnetCount      = 32 * 256
)

// pickSubnet returns an unused /24. The search starts at a position that depends on the pool's
// ID, so that pools rarely collide.
func (p *Pool) pickSubnet(index int) (string, error) {
	start, err := strconv.ParseUint(p.id, 16, 32)
	if err != nil {
		return "", err
	}
	return FreeSubnet(uint32(start%subnetCount) + uint32(index))
}

// FreeSubnet returns a /24 that overlaps no network of this machine. start selects the first
// candidate.
func FreeSubnet(start uint32) (string, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("addresses of this machine: %w", err)
	}
	for i := range subnetCount {
		n := (int(start%subnetCount) + i*31) % subnetCount
		prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(firstSubnetOctet + n/256), byte(n % 256), 0}), 24)
		if !overlaps(prefix, addrs) {
			return prefix.String(), nil
		}
	}
	return "", errors.New("no /24 of 10.192.0.0/11 is free on this machine")
}

func overlaps(prefix netip.Prefix, addrs []net.Addr) bool {
	for _, a := range addrs {
		if network, err := netip.ParsePrefix(a.String()); err == nil && prefix.Overlaps(network.Masked()) {
			return true
		}
	}
	return false
}

// DeviceWithin returns a network device of this machine, other than the named one, whose network
// lies in the prefix. The kernel could not distinguish the two networks. It returns "" if there is
// none.
func DeviceWithin(prefix netip.Prefix, except string) (string, error) {
	devices, err := net.Interfaces()
	if err != nil {
		return "", fmt.Errorf("network devices of this machine: %w", err)
	}
	for _, d := range devices {
		addrs, err := d.Addrs()
		if d.Name == except || err != nil { // err: the device was just removed
			continue
		}
		for _, a := range addrs {
			if network, err := netip.ParsePrefix(a.String()); err == nil && prefix.Contains(network.Addr().Unmap()) && network.Bits() >= prefix.Bits() {
				return d.Name, nil
			}
		}
	}
	return "", nil
}

func (p *Pool) removeBridges() error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return err
	}
	var errs []error
	for _, i := range interfaces {
		if strings.HasPrefix(i.Name, p.bridgePrefix()) {
			errs = append(errs, removeBridge(i.Name))
		}
	}
	return errors.Join(errs...)
}

// removeBridge removes a network interface if it exists.
func removeBridge(name string) error {
	link, err := netlink.LinkByName(name)
	var notFound netlink.LinkNotFoundError
	if errors.As(err, &notFound) {
		return nil
	}
	if err == nil {
		err = netlink.LinkDel(link)
	}
	return wrapError(err, "removing bridge %s", name)
}
