package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// Options configures a Network. All but Log are required.
type Options struct {
	// Dir contains the IP assignments; it is created if missing.
	Dir string
	// CIDR is the pod network, such as 10.88.3.0/24. Its first address is the bridge's.
	CIDR string
	// Bridge is the bridge's name, unique on the machine.
	Bridge string
	Log    klog.Logger
}

// Network is the pod network of a node. It is safe for concurrent use.
type Network struct {
	opts   Options
	prefix netip.Prefix

	mu   sync.Mutex
	last netip.Addr // last assigned IP, or the bridge's
}

// Open creates the bridge and its firewall rules if they do not exist. If it cannot create the rules, it logs the
// error.
func Open(o Options) (*Network, error) {
	prefix, err := netip.ParsePrefix(o.CIDR)
	if err != nil {
		return nil, fmt.Errorf("network %s: CIDR %q: must be a network, such as 10.88.3.0/24", o.Bridge, o.CIDR)
	}
	n := &Network{opts: o, prefix: prefix.Masked()}
	n.last = n.lastAssigned()
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("network %s: %w", o.Bridge, err)
	}
	for _, step := range []func() error{n.makeBridge, n.removeStaleAddresses, enableForwarding} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("network %s: %w", o.Bridge, err)
		}
	}
	if err := ensureRules(o.Bridge, n.prefix); err != nil {
		o.Log.Info("Failed to create firewall rules, pods may be unable to reach other machines", "bridge", o.Bridge, "err", err.Error())
	}
	return n, nil
}

// lastFile returns the path of the file with the last assigned IP, which is kept across restarts.
func (n *Network) lastFile() string { return filepath.Clean(n.opts.Dir) + ".last" }

// lastAssigned returns the IP in lastFile, or the bridge's IP if the file has no IP of this network.
func (n *Network) lastAssigned() netip.Addr {
	text, _ := os.ReadFile(n.lastFile())
	if a, err := netip.ParseAddr(strings.TrimSpace(string(text))); err == nil && n.prefix.Contains(a) {
		return a
	}
	return n.gateway()
}

// vethName returns the name of the host's end of a pod's veth pair.
func vethName(id string) string { return "be" + id[:min(len(id), 12)] }

// Attach connects a network namespace, given by an open file, and returns its IP. id identifies
// the owner of the IP.
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

// allocate assigns a free IP to id.
func (n *Network) allocate(id string) (netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	first, a := n.gateway().Next(), n.last
	for range 1 << min(32-n.prefix.Bits(), 20) {
		a = a.Next()
		if !n.prefix.Contains(a) || !n.prefix.Contains(a.Next()) { // the last address is the broadcast address
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
		if err := os.WriteFile(n.lastFile(), []byte(a.String()+"\n"), 0o600); err != nil { // without it the next agent restarts from the first address
			n.opts.Log.Info("Failed to record the last assigned IP", "bridge", n.opts.Bridge, "err", err.Error())
		}
		return a, nil
	}
	return netip.Addr{}, fmt.Errorf("no free IP in %s: the node has too many pods for its podCIDR", n.prefix)
}

// createVeth creates the veth pair and configures the pod's end.
func (n *Network) createVeth(id string, ns netns.NsHandle, a netip.Addr) error {
	bridge, err := netlink.LinkByName(n.opts.Bridge)
	if err != nil {
		return fmt.Errorf("reading bridge %s: %w", n.opts.Bridge, err)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MasterIndex = vethName(id), bridge.Attrs().Index
	// Derive the MAC address from the IP: neighbors may have cached the MAC address of an earlier pod with this IP.
	b := a.As4()
	pair := &netlink.Veth{LinkAttrs: attrs, PeerName: "eth0", PeerNamespace: netlink.NsFd(ns),
		PeerHardwareAddr: net.HardwareAddr{0x0a, 0x58, b[0], b[1], b[2], b[3]}}
	if err := netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("creating device %s: %w", attrs.Name, err)
	}
	if err := netlink.LinkSetUp(pair); err != nil {
		return fmt.Errorf("device %s: %w", attrs.Name, err)
	}
	// A pod may be the endpoint of its own connection to a Service; the bridge then returns packets
	// to the port from which they came.
	if err := netlink.LinkSetHairpin(pair, true); err != nil {
		return fmt.Errorf("device %s: hairpin mode: %w", attrs.Name, err)
	}
	nsHandle, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer nsHandle.Close()
	for _, name := range []string{"lo", "eth0"} {
		link, err := nsHandle.LinkByName(name)
		if err == nil && name == "eth0" {
			err = nsHandle.AddrAdd(link, n.withPrefixLength(a))
		}
		if err == nil {
			err = nsHandle.LinkSetUp(link)
		}
		if err != nil {
			return fmt.Errorf("the pod's device %s: %w", name, err)
		}
	}
	if err := nsHandle.RouteAdd(&netlink.Route{Gw: n.gateway().AsSlice()}); err != nil {
		return fmt.Errorf("the pod's route: %w", err)
	}
	return nil
}

// Detach releases the device and IP of id. It is idempotent.
func (n *Network) Detach(id string) error {
	errs := []error{removeDevice(vethName(id))}
	assigned, err := n.assignments()
	errs = append(errs, err)
	for file, owner := range assigned {
		if owner == id {
			if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// assignments returns the owners of the IPs by the path of their file, whose name is the IP.
func (n *Network) assignments() (map[string]string, error) {
	entries, err := os.ReadDir(n.opts.Dir)
	if err != nil {
		return nil, err
	}
	owners := map[string]string{}
	for _, e := range entries {
		file := filepath.Join(n.opts.Dir, e.Name())
		if id, err := os.Readlink(file); err == nil {
			owners[file] = id
		}
	}
	return owners, nil
}

// GC releases the IPs, devices and host ports of owners for which keep returns false.
func (n *Network) GC(keep func(id string) bool) error {
	if err := n.gcPorts(keep); err != nil {
		return err // do not release IPs to which ports are still mapped
	}
	assigned, err := n.assignments()
	errs := []error{err}
	for _, id := range assigned {
		if !keep(id) {
			errs = append(errs, n.Detach(id))
		}
	}
	return errors.Join(errs...)
}

// Remove removes the devices, rules and files of a network. It is idempotent and does not use
// o.CIDR.
func Remove(ctx context.Context, o Options) error {
	return errors.Join(TearDown(ctx, o), os.RemoveAll((&Network{opts: o}).lastFile()))
}

// TearDown is Remove, but keeps the last assigned IP for the next Open.
func TearDown(ctx context.Context, o Options) error {
	n := &Network{opts: o}
	var errs []error
	if assigned, err := n.assignments(); err == nil {
		for _, id := range assigned {
			errs = append(errs, n.Detach(id))
		}
	}
	if o.Bridge != "" {
		errs = append(errs, removeDevice(o.Bridge), RemoveRules(ctx, func(network, _ string) bool { return network == o.Bridge }))
	}
	return errors.Join(append(errs, os.RemoveAll(o.Dir))...)
}
