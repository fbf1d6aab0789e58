//go:build linux

package serviceproxy

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables/expr"
	corev1 "k8s.io/api/core/v1"
)

// TestClusterIP checks that a pod, the machine and an endpoint itself reach the Service. Other ports
// are refused at once.
func TestClusterIP(t *testing.T) {
	m := newMachine(t)
	client, a, b := m.startPod("client"), m.startPod("a"), m.startPod("b")
	r := newTestRuleset()
	r.set("default/web", service(nil), slice(corev1.ProtocolTCP, endpointOn("n1", a.ip, "ready"), endpointOn("n1", b.ip, "ready")))
	m.commit(r)
	got := m.countResponses(client, "10.96.7.7:80", 40)
	if got["a"] < 5 || got["b"] < 5 || got["a"]+got["b"] != 40 {
		t.Errorf("responses: %v, want 40 from a and b", got)
	}
	if text, err := m.request(client, "10.96.7.7:80"); err != nil || !strings.HasSuffix(text, " "+client.ip.String()) {
		t.Errorf("response %q, %v, want the client's address %s", text, err, client.ip)
	}
	if got := m.countResponses(nil, "10.96.7.7:80", 10); got["a"]+got["b"] != 10 {
		t.Errorf("responses to the machine %v, want 10 from a and b", got)
	}
	if got := m.countResponses(a, "10.96.7.7:80", 20); got["a"] == 0 || got["a"]+got["b"] != 20 {
		t.Errorf("responses to endpoint a %v, want 20 from a and b", got)
	}
	for _, p := range []*testPod{client, nil} {
		m.checkRefused(p, "10.96.7.7:81")
	}
	// Without endpoints the port refuses, with a terminating one it serves, and a deleted Service
	// leaves no rule.
	r.set("default/web", service(nil), nil)
	m.commit(r)
	m.checkRefused(client, "10.96.7.7:80")
	r.set("default/web", service(nil), slice(corev1.ProtocolTCP, endpointOn("n1", a.ip, "serving"), endpointOn("n1", b.ip, "terminated")))
	m.commit(r)
	if got := m.countResponses(client, "10.96.7.7:80", 10); got["a"] != 10 {
		t.Errorf("responses with one terminating endpoint %v, want 10 from a", got)
	}
	r.set("default/web", nil, nil)
	m.commit(r)
	if c := r.tables[0].applied; len(c.chains)+len(c.elements) != 0 {
		t.Errorf("applied content after the deletion %v, want none", c)
	}
	m.checkApplied(r)
}

// checkRefused expects that a connection is refused at once.
func (m *machine) checkRefused(p *testPod, address string) {
	m.t.Helper()
	if text, err := m.request(p, address); err == nil || !strings.Contains(err.Error(), "refused") {
		m.t.Errorf("%s: %q, %v, want refused", address, text, err)
	}
}

// checkDropped expects that a connection gets no response.
func (m *machine) checkDropped(p *testPod, address string) {
	m.t.Helper()
	if text, err := m.requestWithin(p, address, 500*time.Millisecond); err == nil || !strings.Contains(err.Error(), "timeout") {
		m.t.Errorf("%s: %q, %v, want no response", address, text, err)
	}
}

// checkApplied expects that the kernel has the applied content.
func (m *machine) checkApplied(r *ruleset) {
	m.t.Helper()
	for _, table := range r.tables {
		if same, err := table.verify(); err != nil || !same {
			m.t.Errorf("verify of family %d: %v, %v, want true", table.family, same, err)
		}
	}
}

// TestExternalTraffic checks that node ports, external IPs and load balancer IPs follow
// externalTrafficPolicy.
func TestExternalTraffic(t *testing.T) {
	m := newMachine(t)
	client, a, b := m.startPod("client"), m.startPod("a"), m.startPod("b")
	local := func(s *corev1.Service) {
		s.Spec.Type, s.Spec.Ports[0].NodePort = corev1.ServiceTypeLoadBalancer, 30080
		s.Spec.ExternalIPs = []string{"203.0.113.5"}
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.6"}}
		s.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/26", "198.51.100.0/28"}
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	}
	cluster := func(s *corev1.Service) {
		local(s)
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	endpoints := slice(corev1.ProtocolTCP, endpointOn("n1", a.ip, "ready"), endpointOn("n2", b.ip, "ready"))
	r := newTestRuleset()
	r.set("default/web", service(cluster), endpoints)
	m.commit(r)
	for _, addr := range []string{"198.51.100.1:30080", "203.0.113.5:80", "203.0.113.6:80"} {
		if got := m.countResponses(client, addr, 20); got["a"] == 0 || got["b"] == 0 || got["a"]+got["b"] != 20 {
			t.Errorf("policy Cluster, responses of %s: %v, want 20 from a and b", addr, got)
		}
	}
	m.checkApplied(r)
	// Without local pod CIDRs the client counts as outside the cluster.
	r.setPodCIDRs(nil)
	r.set("default/web", service(local), endpoints)
	m.commit(r)
	for _, addr := range []string{"198.51.100.1:30080", "203.0.113.5:80", "203.0.113.6:80"} {
		if got := m.countResponses(client, addr, 10); got["a"] != 10 {
			t.Errorf("policy Local, responses of %s: %v, want 10 from the local endpoint a", addr, got)
		}
	}
	if text, err := m.request(client, "198.51.100.1:30080"); err != nil || !strings.HasSuffix(text, " "+client.ip.String()) {
		t.Errorf("policy Local, response of the node port: %q, %v, want the client's address %s", text, err, client.ip)
	}
	if got := m.countResponses(nil, "198.51.100.1:30080", 20); got["a"] == 0 || got["b"] == 0 {
		t.Errorf("policy Local, responses to the machine itself: %v, want responses of a and b", got)
	}
	r.set("default/web", service(local), slice(corev1.ProtocolTCP, endpointOn("n2", b.ip, "ready")))
	m.commit(r)
	m.checkDropped(client, "198.51.100.1:30080")
	r.set("default/web", service(func(s *corev1.Service) { cluster(s); s.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"} }), endpoints)
	m.commit(r)
	m.checkDropped(client, "203.0.113.6:80")
	r.set("default/web", service(cluster), nil)
	m.commit(r)
	m.checkRefused(client, "198.51.100.1:30080")
	m.checkApplied(r)
}

// TestInternalTrafficPolicy checks that internalTrafficPolicy Local uses the endpoints of this machine
// only.
func TestInternalTrafficPolicy(t *testing.T) {
	m := newMachine(t)
	client, a, b := m.startPod("client"), m.startPod("a"), m.startPod("b")
	s := service(func(s *corev1.Service) {
		local := corev1.ServiceInternalTrafficPolicyLocal
		s.Spec.InternalTrafficPolicy = &local
	})
	r := newTestRuleset()
	r.set("default/web", s, slice(corev1.ProtocolTCP, endpointOn("n1", a.ip, "ready"), endpointOn("n2", b.ip, "ready")))
	m.commit(r)
	if got := m.countResponses(client, "10.96.7.7:80", 10); got["a"] != 10 {
		t.Errorf("responses: %v, want 10 from a", got)
	}
	r.set("default/web", s, slice(corev1.ProtocolTCP, endpointOn("n2", b.ip, "ready")))
	m.commit(r)
	m.checkDropped(client, "10.96.7.7:80")
}

// TestInternalTrafficPolicyOfVirtualNodes checks that pods of several nodes on a machine reach the endpoints on their node.
// The machine must reach those of all its nodes.
func TestInternalTrafficPolicyOfVirtualNodes(t *testing.T) {
	m := newMachine(t)
	client, other, a, b := m.startPod("client"), m.startPod("other"), m.startPod("a"), m.startPod("b")
	s := service(func(s *corev1.Service) {
		local := corev1.ServiceInternalTrafficPolicyLocal
		s.Spec.InternalTrafficPolicy = &local
	})
	r := newTestRuleset()
	pods := func(list ...*testPod) (prefixes []netip.Prefix) {
		for _, p := range list {
			prefixes = append(prefixes, netip.PrefixFrom(p.ip, 32))
		}
		return prefixes
	}
	r.loc = location{nodes: map[string]bool{"n1": true, "n2": true}, podCIDRs: map[string][]netip.Prefix{"n1": pods(client, a), "n2": pods(other, b)}}
	r.set("default/web", s, slice(corev1.ProtocolTCP, endpointOn("n1", a.ip, "serving"), endpointOn("n2", b.ip, "ready")))
	m.commit(r)
	for p, want := range map[*testPod]string{client: "a", other: "b"} {
		if got := m.countResponses(p, "10.96.7.7:80", 10); got[want] != 10 {
			t.Errorf("responses to %s: %v, want 10 from %s", p.name, got, want)
		}
	}
	r.set("default/web", s, slice(corev1.ProtocolTCP, endpointOn("n1", a.ip, "ready")))
	m.commit(r)
	m.checkApplied(r)
	for _, p := range []*testPod{client, nil} {
		if got := m.countResponses(p, "10.96.7.7:80", 10); got["a"] != 10 {
			t.Errorf("responses to %v: %v, want 10 from a", p, got)
		}
	}
	m.checkDropped(other, "10.96.7.7:80")
}

// TestSessionAffinity checks that a client keeps its endpoint until the endpoint is removed, and then
// keeps the new one.
func TestSessionAffinity(t *testing.T) {
	m := newMachine(t)
	client, client2 := m.startPod("client"), m.startPod("client2")
	pods := []*testPod{m.startPod("a"), m.startPod("b"), m.startPod("c")}
	s := service(func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP })
	r := newTestRuleset()
	setEndpointsExcept := func(name string) {
		list := slice(corev1.ProtocolTCP)
		for _, p := range pods {
			if p.name != name {
				list[0].Endpoints = append(list[0].Endpoints, endpointOn("n1", p.ip, "ready"))
			}
		}
		r.set("default/web", s, list)
		m.commit(r)
	}
	// onlyPod returns the name of the pod that responds to all of ten connections.
	onlyPod := func(from *testPod) string {
		t.Helper()
		got := m.countResponses(from, "10.96.7.7:80", 10)
		for name, n := range got {
			if n == 10 && name != "error:" {
				return name
			}
		}
		t.Errorf("responses: %v, want 10 from one pod", got)
		return ""
	}
	setEndpointsExcept("")
	first := onlyPod(client)
	onlyPod(client2)
	setEndpointsExcept(first)
	second := onlyPod(client)
	if second == first {
		t.Errorf("response from %s after its removal, want another pod", first)
	}
	setEndpointsExcept("")
	if third := onlyPod(client); third != second {
		t.Errorf("response from %s, want %s, which the client used before", third, second)
	}
	r.set("default/web", nil, nil)
	m.commit(r)
	m.checkApplied(r)
}

// TestUDP checks that packets of a UDP client that keeps sending from one port follow the endpoints.
func TestUDP(t *testing.T) {
	m := newMachine(t)
	client, a, b := m.startPod("client"), m.startPod("a"), m.startPod("b")
	s := service(func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolUDP })
	r := newTestRuleset()
	setEndpoint := func(p *testPod) {
		before := r.tables[0].fragments["default/web"]
		r.set("default/web", s, slice(corev1.ProtocolUDP, endpointOn("n1", p.ip, "ready")))
		m.commit(r)
		stale := newStaleFlows()
		stale.add(before, r.tables[0].fragments["default/web"])
		stale.delete(ipv4, newLog(t))
	}
	setEndpoint(a)
	var c net.Conn
	if err := client.runInside(func() (err error) { c, err = net.Dial("udp4", "10.96.7.7:80"); return err }); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	response := func() string {
		b := make([]byte, 64)
		for range 5 {
			_, _ = c.Write([]byte("?"))
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			if n, err := c.Read(b); err == nil {
				return string(b[:n])
			}
		}
		return ""
	}
	for _, p := range []*testPod{a, b, a} {
		setEndpoint(p)
		if got := response(); got != p.name {
			t.Errorf("response from %q, want %q", got, p.name)
		}
	}
}

// TestModifiedTablesAreReplaced checks that isModified finds changes that other programs made to the
// tables, and that commit replaces the tables after replaceTables.
func TestModifiedTablesAreReplaced(t *testing.T) {
	m := newMachine(t)
	client, a := m.startPod("client"), m.startPod("a")
	r := newTestRuleset()
	r.set("default/web", service(nil), slice(corev1.ProtocolTCP, endpointOn("n1", a.ip, "ready")))
	m.commit(r)
	if changed, err := r.isModified(); changed || err != nil {
		t.Fatalf("isModified of unchanged tables: %v, %v, want false", changed, err)
	}
	for name, change := range map[string]func(w *writer){
		"table deleted":    func(w *writer) { w.conn.DelTable(w.table) },
		"chain flushed":    func(w *writer) { w.conn.FlushChain(w.chain("cluster-default/web/tcp/80")) },
		"elements removed": func(w *writer) { w.conn.FlushSet(w.sets[serviceIPMap]) },
		"rule added":       func(w *writer) { w.addRule(w.chain(servicesChain), "x", []expr.Any{verdict(expr.VerdictDrop, "")}) },
		"element added":    func(w *writer) { w.addElements(map[string][]string{clusterIPSet: {"\x01\x02\x03\x04"}}, nil) },
		"pod CIDRs empty":  func(w *writer) { w.conn.FlushSet(w.sets[podCIDRSet]) },
	} {
		conn, err := connect()
		if err != nil {
			t.Fatal(err)
		}
		change(newWriter(conn, r.tables[0]))
		if err := conn.Flush(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if changed, err := r.isModified(); !changed || err != nil {
			t.Errorf("%s: isModified: %v, %v, want true", name, changed, err)
		}
		r.replaceTables()
		m.commit(r)
		if got := m.countResponses(client, "10.96.7.7:80", 3); got["a"] != 3 {
			t.Errorf("%s: responses after the replacement %v, want 3 from a", name, got)
		}
		if changed, err := r.isModified(); changed || err != nil {
			t.Errorf("%s: isModified after the replacement: %v, %v, want false", name, changed, err)
		}
	}
}

// TestClusterIPPrecedesExternalIP checks that a Service with the cluster IP of another Service as an
// external IP does not get its traffic.
func TestClusterIPPrecedesExternalIP(t *testing.T) {
	m := newMachine(t)
	client, a, b := m.startPod("client"), m.startPod("a"), m.startPod("b")
	other := service(func(s *corev1.Service) {
		s.Name, s.Spec.ClusterIP, s.Spec.ClusterIPs, s.Spec.ExternalIPs = "a-other", "10.96.7.8", []string{"10.96.7.8"}, []string{"10.96.7.7"}
	})
	r := newTestRuleset()
	r.set("default/a-other", other, slice(corev1.ProtocolTCP, endpointOn("n1", b.ip, "ready")))
	m.commit(r)
	r.set("default/web", service(nil), slice(corev1.ProtocolTCP, endpointOn("n1", a.ip, "ready")))
	m.commit(r)
	if got := m.countResponses(client, "10.96.7.7:80", 10); got["a"] != 10 {
		t.Errorf("responses: %v, want 10 from a", got)
	}
	r.set("default/a-other", nil, nil)
	m.commit(r)
	m.checkApplied(r)
	if got := m.countResponses(client, "10.96.7.7:80", 5); got["a"] != 5 {
		t.Errorf("responses after the deletion of the Service with the external IP: %v, want 5 from a", got)
	}
}

// TestWithoutBridgeNetfilter checks that pods reach each other through a Service by masquerading if the
// kernel has no br_netfilter.
func TestWithoutBridgeNetfilter(t *testing.T) {
	m := newMachine(t)
	client, a := m.startPod("client"), m.startPod("a")
	r := newRuleset(true)
	r.loc = location{nodes: map[string]bool{"n1": true}}
	r.setPodCIDRs([]netip.Prefix{netip.MustParsePrefix("198.51.100.0/26")})
	r.set("default/web", service(nil), slice(corev1.ProtocolTCP, endpointOn("n1", a.ip, "ready")))
	m.commit(r)
	if text, err := m.request(client, "10.96.7.7:80"); err != nil || text != "a 198.51.100.1" {
		t.Errorf("response %q, %v, want the name a and the bridge's address 198.51.100.1", text, err)
	}
}
