package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/berthproject/berth/internal/testkit"
)

// networkHosts are machines in one network: network namespaces connected to a bridge,
// where the API server listens.
type networkHosts struct {
	t       testing.TB
	bridge  string
	network string // first three bytes of the hosts' addresses
}

// newNetworkHosts creates n hosts, numbered from 1. They are removed when the test ends.
func newNetworkHosts(t testing.TB, n int) *networkHosts {
	t.Helper()
	for _, tool := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil || os.Getuid() != 0 {
			testkit.SkipOrFail(t, "network namespaces", "creating network hosts requires root, ip and nsenter")
		}
	}
	pid := os.Getpid()
	h := &networkHosts{t: t, bridge: fmt.Sprintf("berth%d", pid), network: freeNetwork(t, pid)}
	t.Cleanup(func() {
		for i := range n {
			_ = exec.Command("ip", "netns", "delete", h.name(i+1)).Run() // removes both ends of the link
		}
		h.ip("link", "delete", h.bridge)
	})
	h.ip("link", "add", h.bridge, "type", "bridge")
	h.ip("address", "add", h.address(0)+"/24", "dev", h.bridge)
	h.ip("link", "set", h.bridge, "up")
	for i := 1; i <= n; i++ {
		h.ip("netns", "add", h.name(i))
		h.ip("link", "add", h.link(i), "type", "veth", "peer", "name", "eth0", "netns", h.name(i))
		h.ip("link", "set", h.link(i), "master", h.bridge, "up")
		h.ip("-n", h.name(i), "address", "add", h.address(i)+"/24", "dev", "eth0")
		h.ip("-n", h.name(i), "link", "set", "eth0", "up")
		h.ip("-n", h.name(i), "link", "set", "lo", "up")
		h.ip("-n", h.name(i), "route", "add", "default", "via", h.address(0))
	}
	return h
}

// freeNetwork returns a part of the range for benchmarking (RFC 2544) in which this machine
// has no address. The bridge of a killed test may still exist.
func freeNetwork(t testing.TB, first int) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for i := first; i < first+512; i++ {
		network := fmt.Sprintf("198.%d.%d", 18+i/256%2, i%256)
		if !slices.ContainsFunc(addresses, func(a net.Addr) bool { return strings.HasPrefix(a.String(), network+".") }) {
			return network
		}
	}
	t.Fatal("no network is free in 198.18.0.0/15, want one")
	return ""
}

func (h *networkHosts) ip(args ...string) {
	h.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		h.t.Errorf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func (h *networkHosts) name(i int) string { return fmt.Sprintf("%s-%d", h.bridge, i) }
func (h *networkHosts) link(i int) string { return fmt.Sprintf("%sv%d", h.bridge, i) }

// address returns the address of a host, or that of the bridge for 0.
func (h *networkHosts) address(i int) string { return fmt.Sprintf("%s.%d", h.network, i+1) }

// disconnect takes the link of a host down, and reconnect brings it up again.
func (h *networkHosts) disconnect(i int) { h.ip("link", "set", h.link(i), "down") }
func (h *networkHosts) reconnect(i int)  { h.ip("link", "set", h.link(i), "up") }

// start starts a berth process on a host. Only the network is separate. Files, mounts and cgroups
// are those of the machine.
func (h *networkHosts) start(i int, home testHome, args ...string) *process {
	h.t.Helper()
	return home.startIn([]string{"nsenter", "--net=/run/netns/" + h.name(i), "--"}, args...)
}
