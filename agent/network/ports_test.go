package network_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/internal/testkit"
)

// startTCPServer answers connections to TCP port 8080 of a namespace with answer.
func startTCPServer(t *testing.T, ns *os.File, answer string) {
	t.Helper()
	var l net.Listener
	err := inNamespace(ns, func() (err error) {
		l, err = net.Listen("tcp4", ":8080")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, answer)
			_ = c.Close()
		}
	}()
}

// dialAndRead connects to an address and returns what the server sends.
func dialAndRead(address string) (string, error) {
	c, err := net.Dial("tcp4", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	text, err := io.ReadAll(c)
	return string(text), err
}

// TestHostPort checks that a host port, also on the loopback address, forwards to the pod until it is
// unmapped.
func TestHostPort(t *testing.T) {
	o, n := open(t)
	if err := network.CheckPortMapping(); err != nil {
		testkit.SkipOrFail(t, "iptables", err.Error())
	}
	ns := namespace(t)
	address, err := n.Attach("mapped", ns)
	if err != nil {
		t.Fatal(err)
	}
	startTCPServer(t, ns, "pod")
	const port = 20083
	l, err := net.Listen("tcp4", "127.0.0.1:20083")
	if err != nil {
		t.Fatal(err)
	}
	if listener := network.FindListener("tcp", netip.Addr{}, port); listener != l.Addr().String() {
		t.Errorf("listener on port %d %q, want %s", port, listener, l.Addr())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if listener := network.FindListener("tcp", netip.Addr{}, port); listener != "" {
		t.Errorf("listener on port %d %q, want none", port, listener)
	}
	ports := []network.Port{{Protocol: "tcp", Host: port, Container: 8080}}
	if err := n.MapPorts("mapped", address, ports); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "198.51.100.1"} {
		if got, err := dialAndRead(fmt.Sprintf("%s:%d", host, port)); err != nil || got != "pod" {
			t.Errorf("answer of %s:%d %q, %v, want \"pod\"", host, port, got, err)
		}
	}
	if err := n.MapPorts("second", address, ports); !errors.Is(err, network.ErrPortMapped) || !strings.Contains(err.Error(), o.Bridge) {
		t.Errorf("mapping the same port again: %v, want %v with the bridge", err, network.ErrPortMapped)
	}
	for range 2 {
		if err := n.UnmapPorts("mapped"); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := dialAndRead(fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
		t.Errorf("answer of the unmapped port %q, want an error", got)
	}
	// GC removes the mappings of a killed agent.
	if err := n.MapPorts("orphan", address, ports); err != nil {
		t.Fatal(err)
	}
	if reopened, err := network.Open(o); err != nil {
		t.Error(err)
	} else if err := reopened.GC(func(id string) bool { return id == "mapped" }); err != nil {
		t.Error(err)
	}
	if got, err := dialAndRead(fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
		t.Errorf("answer of the port after GC %q, want an error", got)
	}
}
