package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// Options of a Network. All but Log must be given.
type Options struct {
	// Dir is where addresses are noted; it is made if missing.
	Dir string
	// CIDR is the pods' network, e.g. 10.88.3.0/24. Its first address is the bridge's.
	CIDR string
	// Bridge is the name of the bridge, unique on the machine.
	Bridge string
	Log    klog.Logger
}

// Network is the pods' network of one node. It may be used from many goroutines.
type Network struct {
	opts   Options
	prefix netip.Prefix

	mu   sync.Mutex
	last netip.Addr // that was handed out
}

// Open makes the bridge unless it is there.
func Open(o Options) (*Network, error) {
	prefix, err := netip.ParsePrefix(o.CIDR)
	if err != nil {
		return nil, fmt.Errorf("network %s: CIDR %q: must be a network, e.g. 10.88.3.0/24", o.Bridge, o.CIDR)
	}
	n := &Network{opts: o, prefix: prefix.Masked()}
	n.last = n.lastAssigned()
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("network %s: %w", o.Bridge, err)
	}
	if err := n.makeBridge(); err != nil {
		return nil, fmt.Errorf("network %s: %w", o.Bridge, err)
	}
	if err := ensureRules(o.Bridge, n.prefix); err != nil {
		o.Log.Info("Pods reach each other and this node, but nothing beyond", "bridge", o.Bridge, "why", err.Error())
	}
	return n, nil
}

// lastFile names the address that was handed out last, for who comes after this process.
func (n *Network) lastFile() string { return filepath.Clean(n.opts.Dir) + ".last" }

func (n *Network) lastAssigned() netip.Addr {
	text, _ := os.ReadFile(n.lastFile())
	if a, err := netip.ParseAddr(strings.TrimSpace(string(text))); err == nil && n.prefix.Contains(a) {
		return a
	}
	return n.gateway()
}

// gateway is the bridge's address.
func (n *Network) gateway() netip.Addr { return n.prefix.Addr().Next() }

func (n *Network) makeBridge() error {
	link, err := netlink.LinkByName(n.opts.Bridge)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = n.opts.Bridge
		// One that does not change with what hangs on it: neighbours remember it.
		a := n.gateway().As4()
		attrs.HardwareAddr = net.HardwareAddr{0x02, 0x42, a[0], a[1], a[2], a[3]}
		if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
			return fmt.Errorf("making the bridge: %w", err)
		}
		link, err = netlink.LinkByName(n.opts.Bridge)
	}
	if err != nil {
		return err
	}
	if link.Type() != "bridge" {
		return fmt.Errorf("the device of that name is a %s: it must be a bridge, or not be there", link.Type())
	}
	if err := netlink.AddrReplace(link, n.withPrefixLength(n.gateway())); err != nil {
		return fmt.Errorf("the bridge's address %s: %w", n.gateway(), err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("setting the bridge up: %w", err)
	}
	return nil
}

func (n *Network) withPrefixLength(a netip.Addr) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(n.prefix.Bits(), a.BitLen())}}
}

// vethName is the host's end of the pair of a pod.
func vethName(id string) string { return "be" + id[:min(len(id), 12)] }

// Attach gives a network namespace, an open file of it, an address; id is who it is for.
func (n *Network) Attach(id string, namespace *os.File) (netip.Addr, error) {
	a, err := n.allocate(id)
	if err == nil {
		if err = n.createVeth(id, netns.NsHandle(namespace.Fd()), a); err != nil {
			err = errors.Join(err, n.Detach(id))
		}
	}
	if err != nil {
		return netip.Addr{}, fmt.Errorf("network %s: %w", n.opts.Bridge, err)
	}
	return a, nil
}

// allocate notes a free address for id.
func (n *Network) allocate(id string) (netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	first, a := n.gateway().Next(), n.last
	for range 1 << min(32-n.prefix.Bits(), 20) {
		a = a.Next()
		if !n.prefix.Contains(a) || !n.prefix.Contains(a.Next()) { // the last one is the broadcast's
			a = first
		}
		err := os.Symlink(id, filepath.Join(n.opts.Dir, a.String()))
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return netip.Addr{}, err
		}
		n.last = a
		if err := os.WriteFile(n.lastFile(), []byte(a.String()+"\n"), 0o600); err != nil { // the next one would begin anew, no more
			n.opts.Log.Info("The address that was handed out last cannot be noted", "bridge", n.opts.Bridge, "why", err.Error())
		}
		return a, nil
	}
	return netip.Addr{}, fmt.Errorf("no address of %s is free: the node has too many pods for its podCIDR", n.prefix)
}

// createVeth makes the pair of devices and sets up the pod's end.
func (n *Network) createVeth(id string, ns netns.NsHandle, a netip.Addr) error {
	bridge, err := netlink.LinkByName(n.opts.Bridge)
	if err != nil {
		return fmt.Errorf("the bridge: %w", err)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MasterIndex = vethName(id), bridge.Attrs().Index
	// An address always comes with the same hardware address: neighbours remember it from the pod before.
	b := a.As4()
	pair := &netlink.Veth{LinkAttrs: attrs, PeerName: "eth0", PeerNamespace: netlink.NsFd(ns),
		PeerHardwareAddr: net.HardwareAddr{0x0a, 0x58, b[0], b[1], b[2], b[3]}}
	if err := netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("making device %s: %w", attrs.Name, err)
	}
	if err := netlink.LinkSetUp(pair); err != nil {
		return fmt.Errorf("device %s: %w", attrs.Name, err)
	}
	there, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer there.Close()
	for _, name := range []string{"lo", "eth0"} {
		link, err := there.LinkByName(name)
		if err == nil && name == "eth0" {
			err = there.AddrAdd(link, n.withPrefixLength(a))
		}
		if err == nil {
			err = there.LinkSetUp(link)
		}
		if err != nil {
			return fmt.Errorf("the pod's device %s: %w", name, err)
		}
	}
	if err := there.RouteAdd(&netlink.Route{Gw: n.gateway().AsSlice()}); err != nil {
		return fmt.Errorf("the pod's route: %w", err)
	}
	return nil
}

// Detach gives back what id has. It may be repeated.
func (n *Network) Detach(id string) error {
	errs := []error{removeDevice(vethName(id))}
	owned, err := n.assignments()
	errs = append(errs, err)
	for file, owner := range owned {
		if owner == id {
			if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// assignments are the notes of addresses, each with who has it.
func (n *Network) assignments() (map[string]string, error) {
	entries, err := os.ReadDir(n.opts.Dir)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, e := range entries {
		file := filepath.Join(n.opts.Dir, e.Name())
		if id, err := os.Readlink(file); err == nil {
			all[file] = id
		}
	}
	return all, nil
}

// Sweep gives back what those have that keep does not keep.
func (n *Network) Sweep(keep func(id string) bool) error {
	if err := n.sweepPorts(keep); err != nil {
		return err // addresses to which ports lead are nobody else's
	}
	owned, err := n.assignments()
	errs := []error{err}
	for _, id := range owned {
		if !keep(id) {
			errs = append(errs, n.Detach(id))
		}
	}
	return errors.Join(errs...)
}

// Remove removes all of a network: its devices, rules and notes. It may be repeated; CIDR need
// not be given.
func Remove(ctx context.Context, o Options) error {
	return errors.Join(TearDown(ctx, o), os.RemoveAll((&Network{opts: o}).lastFile()))
}

// TearDown removes all of a network but the note of the address that was handed out last, for who opens it again.
func TearDown(ctx context.Context, o Options) error {
	n := &Network{opts: o}
	var errs []error
	if owned, err := n.assignments(); err == nil {
		for _, id := range owned {
			errs = append(errs, n.Detach(id))
		}
	}
	if o.Bridge != "" {
		errs = append(errs, removeDevice(o.Bridge), RemoveRules(ctx, func(network, _ string) bool { return network == o.Bridge }))
	}
	return errors.Join(append(errs, os.RemoveAll(o.Dir))...)
}

func removeDevice(name string) error {
	link, err := netlink.LinkByName(name)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil
	}
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if err == nil || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL) && !linkExists(name) {
		return nil // it has just gone with its namespace
	}
	return fmt.Errorf("removing network device %s: %w", name, err)
}

func linkExists(name string) bool {
	_, err := netlink.LinkByName(name)
	return err == nil
}

// ipForwardFile is where the kernel is told to pass packets on.
const ipForwardFile = "/proc/sys/net/ipv4/ip_forward"

// enableForwarding lets packets pass from the pods' network to others.
func enableForwarding() error {
	text, err := os.ReadFile(ipForwardFile)
	if err == nil && strings.TrimSpace(string(text)) == strconv.Itoa(1) {
		return nil
	}
	return os.WriteFile(ipForwardFile, []byte("1"), 0o644)
}
