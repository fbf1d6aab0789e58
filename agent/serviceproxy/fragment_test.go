//go:build linux

package serviceproxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

var testLocation = location{nodes: map[string]bool{"n1": true}, zone: "z1"}

// text returns the rules of a fragment, the endpoints of its chains, and the chains of its node ports
// and Service IPs. The lines are sorted.
func (f *fragment) text() string {
	var lines []string
	for name, rules := range f.chains {
		for i, r := range rules {
			lines = append(lines, fmt.Sprintf("%s %d: %s", name, i+1, r))
		}
	}
	for e, value := range f.elements {
		switch e.set {
		case nodePortMap:
			lines = append(lines, "node port: "+value)
		case endpointMap:
			for name := range f.chains {
				for i := range 9 {
					if e.key == endpointKey(name, i) {
						a, _ := netip.AddrFromSlice([]byte(value[:len(value)-4]))
						lines = append(lines, fmt.Sprintf("%s endpoint %d: %s", name, i, a))
					}
				}
			}
		case serviceIPMap:
			a, _ := netip.AddrFromSlice([]byte(e.key[:len(e.key)-8]))
			lines = append(lines, a.String()+": "+value)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestFragment(t *testing.T) {
	a, b := netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.1.0.2")
	both := slice(corev1.ProtocolTCP, endpointOn("n2", b, "ready"), endpointOn("n1", a, "ready"))
	nodePort := func(policy corev1.ServiceExternalTrafficPolicy) func(*corev1.Service) {
		return func(s *corev1.Service) {
			s.Spec.Type, s.Spec.Ports[0].NodePort, s.Spec.ExternalTrafficPolicy = corev1.ServiceTypeNodePort, 30080, policy
		}
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Service)
		slices []*discoveryv1.EndpointSlice
		want   string
	}{
		"cluster IP":   {nil, both, "10.96.7.7: cluster-default/web/tcp/80\ncluster-default/web/tcp/80 1: dnat to one of 2 endpoints of cluster-default/web/tcp/80\ncluster-default/web/tcp/80 endpoint 0: 10.1.0.1\ncluster-default/web/tcp/80 endpoint 1: 10.1.0.2"},
		"no endpoints": {nil, nil, "10.96.7.7: reject"},
		"only terminating endpoints serve": {nil, slice(corev1.ProtocolTCP, endpointOn("n1", a, "serving"), endpointOn("n1", b, "terminated")),
			"10.96.7.7: cluster-default/web/tcp/80\ncluster-default/web/tcp/80 1: dnat to one of 1 endpoints of cluster-default/web/tcp/80\ncluster-default/web/tcp/80 endpoint 0: 10.1.0.1"},
		"a ready endpoint replaces terminating ones": {nil, slice(corev1.ProtocolTCP, endpointOn("n1", a, "serving"), endpointOn("n1", b, "ready")),
			"10.96.7.7: cluster-default/web/tcp/80\ncluster-default/web/tcp/80 1: dnat to one of 1 endpoints of cluster-default/web/tcp/80\ncluster-default/web/tcp/80 endpoint 0: 10.1.0.2"},
		"affinity": {func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }, slice(corev1.ProtocolTCP, endpointOn("n1", a, "ready")),
			`10.96.7.7: cluster-default/web/tcp/80
cluster-default/web/tcp/80 1: dnat to saddr map @clients-cluster-default/web/tcp/80 if an endpoint of cluster-default/web/tcp/80, timeout 3h0m0s
cluster-default/web/tcp/80 2: update @clients-cluster-default/web/tcp/80, dnat to one of 1 endpoints of cluster-default/web/tcp/80, timeout 3h0m0s
cluster-default/web/tcp/80 3: dnat to one of 1 endpoints of cluster-default/web/tcp/80
cluster-default/web/tcp/80 endpoint 0: 10.1.0.1`},
		"node port": {nodePort(corev1.ServiceExternalTrafficPolicyCluster), slice(corev1.ProtocolTCP, endpointOn("n1", a, "ready")),
			`10.96.7.7: cluster-default/web/tcp/80
cluster-default/web/tcp/80 1: dnat to one of 1 endpoints of cluster-default/web/tcp/80
cluster-default/web/tcp/80 endpoint 0: 10.1.0.1
external-default/web/tcp/80 1: mark for masquerade
external-default/web/tcp/80 2: goto cluster-default/web/tcp/80
node port: external-default/web/tcp/80`},
		"node port with policy Local": {nodePort(corev1.ServiceExternalTrafficPolicyLocal), both,
			`10.96.7.7: cluster-default/web/tcp/80
cluster-default/web/tcp/80 1: dnat to one of 2 endpoints of cluster-default/web/tcp/80
cluster-default/web/tcp/80 endpoint 0: 10.1.0.1
cluster-default/web/tcp/80 endpoint 1: 10.1.0.2
external-default/web/tcp/80 1: saddr @local-pods goto cluster-default/web/tcp/80
external-default/web/tcp/80 2: saddr type local, mark for masquerade, goto cluster-default/web/tcp/80
external-default/web/tcp/80 3: goto local-default/web/tcp/80
local-default/web/tcp/80 1: dnat to one of 1 endpoints of local-default/web/tcp/80
local-default/web/tcp/80 endpoint 0: 10.1.0.1
node port: external-default/web/tcp/80`},
		"headless":      {func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.ClusterIPs = "None", []string{"None"} }, both, ""},
		"external name": {func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }, both, ""},
	} {
		if got := newFragment(service(tc.change), tc.slices, discoveryv1.AddressTypeIPv4, testLocation).text(); got != tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, tc.want)
		}
	}
}

func TestIPv6Fragment(t *testing.T) {
	s := service(func(s *corev1.Service) { s.Spec.ClusterIPs = []string{"10.96.7.7", "fd00::7"} })
	ipv6Slices := slice(corev1.ProtocolTCP, endpointOn("n1", netip.MustParseAddr("fd01::1"), "ready"))
	ipv6Slices[0].AddressType = discoveryv1.AddressTypeIPv6
	list := append(slice(corev1.ProtocolTCP, endpointOn("n1", netip.MustParseAddr("10.1.0.1"), "ready")), ipv6Slices...)
	want := "cluster-default/web/tcp/80 1: dnat to one of 1 endpoints of cluster-default/web/tcp/80\ncluster-default/web/tcp/80 endpoint 0: fd01::1\nfd00::7: cluster-default/web/tcp/80"
	if got := newFragment(s, list, discoveryv1.AddressTypeIPv6, testLocation).text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestHints checks that endpoints with hints for this zone or node are preferred, unless one has no
// hint or none is for this zone.
func TestHints(t *testing.T) {
	addr := func(last byte, zone, node string) endpoint {
		e := endpoint{addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, last}), 80), ready: true, serving: true}
		if zone != "" {
			e.zones = []string{zone}
		}
		if node != "" {
			e.nodes = []string{node}
		}
		return e
	}
	for name, tc := range map[string]struct {
		list []endpoint
		want int
	}{
		"zone":          {[]endpoint{addr(1, "z1", ""), addr(2, "z2", "")}, 1},
		"node":          {[]endpoint{addr(1, "z1", "n2"), addr(2, "z1", "n1"), addr(3, "z1", "n3")}, 1},
		"other node":    {[]endpoint{addr(1, "z1", "n2"), addr(2, "z2", "n3")}, 1},
		"missing hint":  {[]endpoint{addr(1, "z1", ""), addr(2, "", "")}, 2},
		"other zones":   {[]endpoint{addr(1, "z2", ""), addr(2, "z3", "")}, 2},
		"without hints": {[]endpoint{addr(1, "", ""), addr(2, "", "")}, 2},
		"not ready":     {[]endpoint{addr(1, "z1", ""), {addr: addr(9, "", "").addr}}, 1},
	} {
		if got := clusterEndpoints(tc.list, testLocation); len(got) != tc.want {
			t.Errorf("%s: endpoints %v, want %d", name, got, tc.want)
		}
	}
}

func TestHealthCheck(t *testing.T) {
	a, b := netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.1.0.2")
	s := service(func(s *corev1.Service) {
		s.Spec.Type, s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = corev1.ServiceTypeLoadBalancer, corev1.ServiceExternalTrafficPolicyLocal, 32000
	})
	for want, list := range map[int][]*discoveryv1.EndpointSlice{
		1: slice(corev1.ProtocolTCP, endpointOn("n1", a, "ready"), endpointOn("n2", b, "ready")),
		0: slice(corev1.ProtocolTCP, endpointOn("n1", a, "serving")),
	} {
		port, local := healthPort(s, list, testLocation)
		if port != 32000 || local != want {
			t.Errorf("port %d, %d local endpoints, want 32000 and %d", port, local, want)
		}
		w := httptest.NewRecorder()
		(&healthServer{service: "default/web", local: local}).ServeHTTP(w, nil)
		var body struct{ LocalEndpoints int }
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.LocalEndpoints != want || (w.Code == http.StatusOK) != (want > 0) {
			t.Errorf("response with %d local endpoints: status %d, body %s, error %v, want their number, and 200 if it is not 0", want, w.Code, w.Body, err)
		}
	}
}

func TestIntervals(t *testing.T) {
	got := withoutOverlaps([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.0/24")})
	if fmt.Sprint(got) != "[10.0.0.0/8 192.0.2.0/24]" {
		t.Errorf("prefixes %v, want [10.0.0.0/8 192.0.2.0/24]", got)
	}
	if e := intervals(got); len(e) != 4 || netip.AddrFrom4([4]byte(e[1].Key)).String() != "11.0.0.0" {
		t.Errorf("intervals %v, want 4, of which the first ends at 11.0.0.0", e)
	}
	if e := intervals([]netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}); len(e) != 1 {
		t.Errorf("intervals of all addresses %v, want 1", e)
	}
}
