package serviceproxy

import (
	"io"
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/berthproject/berth/internal/testkit"
)

// TestIPv6 checks that a Service reaches IPv6 endpoints on the machine itself, with and without
// session affinity.
func TestIPv6(t *testing.T) {
	newMachine(t) // checks the requirements
	r := newTestRuleset()
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	endpoints := slice(corev1.ProtocolTCP)
	endpoints[0].AddressType = discoveryv1.AddressTypeIPv6
	for _, text := range []string{"fd01::1", "fd01::2", "fd00::100"} {
		a, err := netlink.ParseAddr(text + "/128")
		if err != nil {
			t.Fatal(err)
		}
		a.Flags = unix.IFA_F_NODAD // usable at once
		if err := netlink.AddrAdd(lo, a); err != nil {
			testkit.SkipOrFail(t, "IPv6", err.Error())
		}
		if text == "fd00::100" {
			continue
		}
		l, err := net.Listen("tcp6", "["+text+"]:8080")
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
				_, _ = io.WriteString(c, text)
				_ = c.Close()
			}
		}()
		endpoints[0].Endpoints = append(endpoints[0].Endpoints, endpointOn("n1", netip.MustParseAddr(text), "ready"))
	}
	_, route, _ := net.ParseCIDR("fd00::/64")
	if err := netlink.RouteReplace(&netlink.Route{LinkIndex: lo.Attrs().Index, Dst: route}); err != nil {
		t.Fatal(err)
	}
	request := func() string {
		t.Helper()
		c, err := net.Dial("tcp6", "[fd00::7]:80")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		text, _ := io.ReadAll(c)
		return string(text)
	}
	s := service(func(s *corev1.Service) { s.Spec.ClusterIPs = []string{"10.96.7.7", "fd00::7"} })
	for _, affinity := range []corev1.ServiceAffinity{corev1.ServiceAffinityNone, corev1.ServiceAffinityClientIP} {
		s.Spec.SessionAffinity = affinity
		r.set("default/web", s, endpoints)
		if err := r.commit(); err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for range 30 {
			counts[request()]++
		}
		if want := map[corev1.ServiceAffinity]int{corev1.ServiceAffinityNone: 2, corev1.ServiceAffinityClientIP: 1}[affinity]; len(counts) != want {
			t.Errorf("session affinity %s: responses %v, want %d endpoints", affinity, counts, want)
		}
	}
	if changed, err := r.isModified(); changed || err != nil {
		t.Errorf("isModified of unchanged tables: %v, %v, want false", changed, err)
	}
}
