package network_test

import (
	"context"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/internal/testkit"
)

// TestProtectLoopback checks that a pod cannot reach listeners on the machine's loopback address, even
// if the pod routes 127.0.0.1 to the bridge.
func TestProtectLoopback(t *testing.T) {
	o, n := open(t)
	if err := network.CheckPortMapping(); err != nil {
		testkit.SkipOrFail(t, "iptables", err.Error())
	}
	ns := namespace(t)
	address, err := n.Attach("pod", ns)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.MapPorts("pod", address, []network.Port{{Protocol: "tcp", Host: 20080, Container: 8080}}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:20081")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	routeLoopbackToBridge(t, ns)
	if err := dialFrom(ns, l.Addr().String(), 500*time.Millisecond); err == nil {
		t.Error("the pod reaches a listener on the host's loopback address, want an error")
	}
	// Open adds a rule that is missing on an existing bridge.
	if err := network.RemoveRules(context.Background(), func(name, _ string) bool { return name == o.Bridge }); err != nil {
		t.Fatal(err)
	}
	if err := dialFrom(ns, l.Addr().String(), 10*time.Second); err != nil {
		t.Errorf("without the rule: %v, want success, to show that the rule is effective", err)
	}
	if _, err := network.Open(o); err != nil {
		t.Fatal(err)
	}
	if err := dialFrom(ns, l.Addr().String(), 500*time.Millisecond); err == nil {
		t.Error("after reopening, the pod reaches a listener on the host's loopback address, want an error")
	}
}

// inNamespace calls do in a network namespace, on a separate thread.
func inNamespace(ns *os.File, do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		err := netns.Set(netns.NsHandle(ns.Fd()))
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}

// dialFrom opens and closes a connection from a network namespace.
func dialFrom(ns *os.File, address string, timeout time.Duration) error {
	return inNamespace(ns, func() error {
		c, err := net.DialTimeout("tcp4", address, timeout)
		if err == nil {
			err = c.Close()
		}
		return err
	})
}

// routeLoopbackToBridge routes the packets of a pod for 127.0.0.1 to the bridge.
func routeLoopbackToBridge(t *testing.T, ns *os.File) {
	t.Helper()
	err := inNamespace(ns, func() error {
		if err := os.WriteFile("/proc/sys/net/ipv4/conf/all/route_localnet", []byte("1"), 0o644); err != nil {
			return err
		}
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		loopback, err := netlink.ParseAddr("127.0.0.1/8")
		if err == nil {
			err = netlink.AddrDel(lo, loopback)
		}
		if err != nil {
			return err
		}
		eth0, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		return netlink.RouteAdd(&netlink.Route{LinkIndex: eth0.Attrs().Index, Dst: &net.IPNet{IP: net.IPv4(127, 0, 0, 0), Mask: loopback.Mask}, Gw: netip.MustParseAddr("198.51.100.1").AsSlice()})
	})
	if err != nil {
		t.Fatal(err)
	}
}
