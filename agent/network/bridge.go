package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// gateway returns the bridge's IP.
func (n *Network) gateway() netip.Addr { return n.prefix.Addr().Next() }

// EnsureBridge creates a bridge with the first address of a pod network that another program
// manages, and lets the machine forward packets.
func EnsureBridge(name, cidr string) error {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return fmt.Errorf("network %s: CIDR %q: must be a network, such as 10.88.3.0/24", name, cidr)
	}
	n := &Network{opts: Options{Bridge: name}, prefix: prefix.Masked()}
	for _, step := range []func() error{n.makeBridge, enableForwarding} {
		if err := step(); err != nil {
			return fmt.Errorf("network %s: %w", name, err)
		}
	}
	return nil
}

// makeBridge creates the bridge if it does not exist, and sets its address and group.
func (n *Network) makeBridge() error {
	link, err := netlink.LinkByName(n.opts.Bridge)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = n.opts.Bridge
		// A fixed MAC address: by default it changes with the attached devices, and neighbors cache it.
		a := n.gateway().As4()
		attrs.HardwareAddr = net.HardwareAddr{0x02, 0x42, a[0], a[1], a[2], a[3]}
		if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
			return fmt.Errorf("creating the bridge: %w", err)
		}
		link, err = netlink.LinkByName(n.opts.Bridge)
	}
	if err != nil {
		return err
	}
	if link.Type() != "bridge" {
		return fmt.Errorf("a device of this name exists and is a %s, not a bridge", link.Type())
	}
	if err := netlink.AddrReplace(link, n.withPrefixLength(n.gateway())); err != nil {
		return fmt.Errorf("setting the bridge address %s: %w", n.gateway(), err)
	}
	if err := joinPodGroup(link); err != nil {
		return fmt.Errorf("setting the bridge's group: %w", err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("setting the bridge up: %w", err)
	}
	return nil
}

// removeStaleAddresses removes the bridge's addresses of earlier ranges in which no pod has an IP.
// Pods of an earlier range keep working.
func (n *Network) removeStaleAddresses() error {
	link, err := netlink.LinkByName(n.opts.Bridge)
	if err != nil {
		return err
	}
	addrs, err := netlink.AddrList(link, unix.AF_INET)
	if err != nil {
		return err
	}
	assigned, err := n.assignments()
	if err != nil {
		return err
	}
	var errs []error
	for i := range addrs {
		p, err := netip.ParsePrefix(addrs[i].IPNet.String())
		if err != nil || p.Masked() == n.prefix {
			continue
		}
		used := false
		for file := range assigned {
			ip, err := netip.ParseAddr(filepath.Base(file))
			used = used || err == nil && p.Contains(ip)
		}
		if !used {
			errs = append(errs, netlink.AddrDel(link, &addrs[i]))
		}
	}
	return errors.Join(errs...)
}

// withPrefixLength returns the IP with the prefix length of the pod network.
func (n *Network) withPrefixLength(a netip.Addr) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(n.prefix.Bits(), a.BitLen())}}
}

// removeDevice removes a network device. It succeeds if the device does not exist.
func removeDevice(name string) error {
	link, err := netlink.LinkByName(name)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil
	}
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if err == nil || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL) && !linkExists(name) {
		return nil // removed with its namespace
	}
	return fmt.Errorf("removing network device %s: %w", name, err)
}

func linkExists(name string) bool {
	_, err := netlink.LinkByName(name)
	return err == nil
}

// ipForwardFile contains 1 if the machine forwards packets.
const ipForwardFile = "/proc/sys/net/ipv4/ip_forward"

// enableForwarding enables IP forwarding, without which pods reach neither pods of other nodes on
// this machine nor other machines.
func enableForwarding() error {
	text, err := os.ReadFile(ipForwardFile)
	if err == nil && strings.TrimSpace(string(text)) == "1" {
		return nil
	}
	return os.WriteFile(ipForwardFile, []byte("1"), 0o644)
}
