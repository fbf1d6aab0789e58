package network_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netns"

	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/internal/testkit"
)

// startTCPServer answers connections in a namespace with word.
func startTCPServer(t *testing.T, ns *os.File, word string) {
	t.Helper()
	listening := make(chan net.Listener)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		var l net.Listener
		var err error
		if err = netns.Set(netns.NsHandle(ns.Fd())); err != nil {
			t.Error(err)
		} else if l, err = net.Listen("tcp4", ":8080"); err != nil {
			t.Error(err)
		}
		listening <- l
	}()
	l := <-listening
	if l == nil {
		t.FailNow()
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, word)
			_ = c.Close()
		}
	}()
}

func dialAndRead(address string) (string, error) {
	c, err := net.Dial("tcp4", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	text, err := io.ReadAll(c)
	return string(text), err
}

// Host ports, also on the loopback address, forward to the pod until they are unmapped.
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
	startTCPServer(t, ns, "here")
	const port = 20083
	l, err := net.Listen("tcp4", "127.0.0.1:20083")
	if err != nil {
		t.Fatal(err)
	}
	if listener := network.FindListener("tcp", netip.Addr{}, port); listener != l.Addr().String() {
		t.Errorf("port %d is in use by %q, want %s", port, listener, l.Addr())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if listener := network.FindListener("tcp", netip.Addr{}, port); listener != "" {
		t.Errorf("port %d is in use by %q, want none", port, listener)
	}
	ports := []network.Port{{Protocol: "tcp", Host: port, Container: 8080}}
	if err := n.MapPorts("mapped", address, ports); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "198.51.100.1"} {
		if got, err := dialAndRead(fmt.Sprintf("%s:%d", host, port)); err != nil || got != "here" {
			t.Errorf("port %d of %s answers %q, %v", port, host, got, err)
		}
	}
	if err := n.MapPorts("other", address, ports); !errors.Is(err, network.ErrPortMapped) || !strings.Contains(err.Error(), o.Bridge) {
		t.Errorf("mapping the same port again: %v, want an error", err)
	}
	for range 2 {
		if err := n.UnmapPorts("mapped"); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := dialAndRead(fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
		t.Errorf("the unmapped port answers %q", got)
	}
	// Sweep removes the mappings of a killed agent.
	if err := n.MapPorts("orphan", address, ports); err != nil {
		t.Fatal(err)
	}
	if reopened, err := network.Open(o); err != nil {
		t.Error(err)
	} else if err := reopened.Sweep(func(id string) bool { return id == "mapped" }); err != nil {
		t.Error(err)
	}
	if got, err := dialAndRead(fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
		t.Errorf("the port answers %q after Sweep", got)
	}
}
