package network_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/internal/testkit"
)

// openWithoutIptables opens a network while PATH has no programs. index is part of its range and of its
// bridge's name.
func openWithoutIptables(t *testing.T, index int) *network.Network {
	t.Helper()
	if os.Geteuid() != 0 {
		testkit.SkipOrFail(t, "root", "creating network devices requires root")
	}
	t.Setenv("PATH", t.TempDir())
	o := network.Options{Dir: filepath.Join(t.TempDir(), "addresses"), CIDR: fmt.Sprintf("198.18.%d.0/24", index), Bridge: fmt.Sprintf("bm%d-%d", os.Getpid()%100000, index), Log: klog.Background()}
	n, err := network.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := network.Remove(context.Background(), o); err != nil {
			t.Error(err)
		}
	})
	return n
}

// listenInNamespace starts a listener in a network namespace. It returns the port and the source
// addresses of the connections.
func listenInNamespace(t *testing.T, ns *os.File) (port int, sources <-chan string) {
	t.Helper()
	var l net.Listener
	if err := inNamespace(ns, func() (err error) { l, err = net.Listen("tcp4", ":0"); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	addresses := make(chan string, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			addresses <- c.RemoteAddr().(*net.TCPAddr).IP.String()
			_ = c.Close()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port, addresses
}

// TestPodsOfTwoNodes checks that pods of two nodes on one machine without iptables reach each other and
// keep their source addresses.
func TestPodsOfTwoNodes(t *testing.T) {
	var namespaces []*os.File
	var addresses []netip.Addr
	for i := range 2 {
		ns := namespaceWithPath(t)
		a, err := openWithoutIptables(t, i).Attach(fmt.Sprint("pod", i), ns)
		if err != nil {
			t.Fatal(err)
		}
		namespaces, addresses = append(namespaces, ns), append(addresses, a)
	}
	for i := range 2 {
		port, sources := listenInNamespace(t, namespaces[1-i])
		if err := dialFrom(namespaces[i], fmt.Sprintf("%s:%d", addresses[1-i], port), 10*time.Second); err != nil {
			t.Fatalf("the pod of node %d does not reach the other: %v", i, err)
		}
		if got := <-sources; got != addresses[i].String() {
			t.Errorf("source address %s of the pod of node %d, want %s", got, i, addresses[i])
		}
	}
}

// namespaceWithPath is namespace with the original PATH, which openWithoutIptables replaces.
func namespaceWithPath(t *testing.T) *os.File {
	t.Helper()
	if os.Geteuid() != 0 {
		testkit.SkipOrFail(t, "root", "creating network devices requires root")
	}
	t.Setenv("PATH", originalPath)
	return namespace(t)
}

var originalPath = os.Getenv("PATH")

// TestMasquerade checks that packets of pods to other machines have this machine's source address.
func TestMasquerade(t *testing.T) {
	otherMachine, ns := namespaceWithPath(t), namespaceWithPath(t)
	attrs := netlink.NewLinkAttrs()
	attrs.Name = fmt.Sprintf("bx%d", os.Getpid()%100000)
	link := &netlink.Veth{LinkAttrs: attrs, PeerName: "eth0", PeerNamespace: netlink.NsFd(int(otherMachine.Fd()))}
	if err := netlink.LinkAdd(link); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = netlink.LinkDel(link) })
	setUp := func(link netlink.Link, err error, address string) error {
		if err != nil {
			return err
		}
		a, err := netlink.ParseAddr(address)
		if err == nil {
			err = netlink.AddrAdd(link, a)
		}
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		return err
	}
	if err := setUp(link, nil, "198.51.100.1/30"); err != nil {
		t.Fatal(err)
	}
	if err := inNamespace(otherMachine, func() error {
		peer, err := netlink.LinkByName("eth0")
		return setUp(peer, err, "198.51.100.2/30")
	}); err != nil {
		t.Fatal(err)
	}
	port, sources := listenInNamespace(t, otherMachine)
	if _, err := openWithoutIptables(t, 0).Attach("pod", ns); err != nil {
		t.Fatal(err)
	}
	if err := dialFrom(ns, fmt.Sprintf("198.51.100.2:%d", port), 10*time.Second); err != nil {
		t.Fatalf("the pod does not reach the other machine: %v", err)
	}
	if got := <-sources; got != "198.51.100.1" {
		t.Errorf("source address %s, want 198.51.100.1, this machine's", got)
	}
}

// TestEnsureBridge checks that EnsureBridge is idempotent and that the bridge has the first address of
// the range.
func TestEnsureBridge(t *testing.T) {
	if os.Geteuid() != 0 {
		testkit.SkipOrFail(t, "root", "creating network devices requires root")
	}
	name := fmt.Sprintf("be%d", os.Getpid()%100000)
	t.Cleanup(func() {
		if err := network.Remove(context.Background(), network.Options{Dir: filepath.Join(t.TempDir(), "none"), Bridge: name}); err != nil {
			t.Error(err)
		}
	})
	for range 2 {
		if err := network.EnsureBridge(name, "198.18.7.0/24"); err != nil {
			t.Fatal(err)
		}
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		t.Fatal(err)
	}
	addrs, err := netlink.AddrList(link, unix.AF_INET)
	if err != nil || len(addrs) != 1 || addrs[0].IPNet.String() != "198.18.7.1/24" {
		t.Errorf("addresses of the bridge %v, %v, want 198.18.7.1/24", addrs, err)
	}
}
