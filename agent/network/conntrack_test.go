package network_test

import (
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/internal/testkit"
)

// startUDPServer answers all packets to UDP port 8080 of a namespace with answer.
func startUDPServer(t *testing.T, ns *os.File, answer string) {
	t.Helper()
	var l *net.UDPConn
	err := inNamespace(ns, func() (err error) {
		l, err = net.ListenUDP("udp4", &net.UDPAddr{Port: 8080})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for b := make([]byte, 16); ; {
			_, from, err := l.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			_, _ = l.WriteToUDPAddrPort([]byte(answer), from)
		}
	}()
}

// TestDeleteFlows checks that packets of a client that keeps sending from the same port follow the
// current rules.
func TestDeleteFlows(t *testing.T) {
	_, n := open(t)
	if err := network.CheckPortMapping(); err != nil {
		testkit.SkipOrFail(t, "iptables", err.Error())
	}
	client, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:20082")))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ports := []network.Port{{Protocol: "udp", Host: 20082, Container: 8080}}
	if got := sendAndRead(t, client, 1); got != "" {
		t.Errorf("answer %q of an unmapped port, want none", got)
	}
	for _, id := range []string{"first", "second"} {
		ns := namespace(t)
		address, err := n.Attach(id, ns)
		if err != nil {
			t.Fatal(err)
		}
		startUDPServer(t, ns, id)
		if err := n.MapPorts(id, address, ports); err != nil {
			t.Fatal(err)
		}
		if got := sendAndRead(t, client, 20); got != id {
			t.Errorf("answer %q of the port, want %q of the mapped pod", got, id)
		}
		if err := n.UnmapPorts(id); err != nil {
			t.Fatal(err)
		}
		if got := sendAndRead(t, client, 1); got != "" {
			t.Errorf("answer %q after unmapping, want none", got)
		}
	}
}

// sendAndRead sends a packet until it reads an answer, at most the given number of times. It
// returns "" without an answer.
func sendAndRead(t *testing.T, c *net.UDPConn, times int) string {
	t.Helper()
	b := make([]byte, 16)
	for range times {
		_, _ = c.Write([]byte("?")) // a late ICMP error can be reported here
		if err := c.SetReadDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(b); err == nil {
			return string(b[:n])
		}
	}
	return ""
}
