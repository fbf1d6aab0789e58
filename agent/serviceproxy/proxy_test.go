package serviceproxy

import (
	"context"
	"testing"
	"time"

	"github.com/google/nftables"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// runProxy runs a proxy of node n1 until the returned function is called.
func (m *machine) runProxy(client *fake.Clientset, change func(*Options)) (p *Proxy, stop func()) {
	m.t.Helper()
	o := Options{Client: client, Nodes: []string{"n1"}, Log: newLog(m.t)}
	if change != nil {
		change(&o)
	}
	p = New(o)
	ctx, cancel := context.WithCancel(m.t.Context())
	runErr := make(chan error, 1)
	go func() { runErr <- p.Run(ctx) }()
	return p, func() {
		cancel()
		if err := <-runErr; err != nil {
			m.t.Error(err)
		}
	}
}

// eventually waits at most 10 s until reached returns true.
func (m *machine) eventually(condition string, reached func() bool) {
	m.t.Helper()
	for range 200 {
		if reached() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	m.t.Fatalf("timed out after 10 s: %s", condition)
}

func hasTable(t *testing.T, name string) bool {
	t.Helper()
	conn, err := connect()
	if err != nil {
		t.Fatal(err)
	}
	tables, err := conn.ListTables()
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if table.Name == name {
			return true
		}
	}
	return false
}

// TestProxy checks that the proxy applies changes from the API server and removes its tables when it ends. A
// second proxy waits until then.
func TestProxy(t *testing.T) {
	m := newMachine(t)
	pod, a, b := m.startPod("client"), m.startPod("a"), m.startPod("b")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: corev1.NodeSpec{PodCIDR: "198.51.100.0/26"}}
	client := fake.NewClientset(node, service(nil), slice(corev1.ProtocolTCP, endpointOn("n1", a.ip, "ready"))[0])
	p, stop := m.runProxy(client, nil)
	respondsFrom := func(want string) func() bool {
		return func() bool { return m.countResponses(pod, "10.96.7.7:80", 1)[want] == 1 }
	}
	m.eventually("the Service works", respondsFrom("a"))
	_, stopSecond := m.runProxy(client, nil)
	if !Running() {
		t.Error("Running is false while a proxy runs, want true")
	}
	slices := client.DiscoveryV1().EndpointSlices("default")
	update := func(eps ...discoveryv1.Endpoint) {
		t.Helper()
		if _, err := slices.Update(t.Context(), slice(corev1.ProtocolTCP, eps...)[0], metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	update(endpointOn("n1", a.ip, "serving"), endpointOn("n1", b.ip, "ready"))
	p.AwaitUnrouted(t.Context(), []string{a.ip.String()})
	if got := m.countResponses(pod, "10.96.7.7:80", 10); got["b"] != 10 {
		t.Errorf("responses after AwaitUnrouted %v, want only b", got)
	}
	if err := client.CoreV1().Services("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	m.eventually("the deleted Service does not respond", func() bool { return !respondsFrom("b")() })
	stop()
	m.eventually("the second proxy takes over", func() bool { return Running() && hasTable(t, tableName) })
	stopSecond()
	if hasTable(t, tableName) || Running() {
		t.Error("hasTable or Running is true after the last proxy has stopped, want false")
	}
}

// TestProxyOfVirtualNodes checks that the proxy reads the pod CIDRs of this machine's nodes from the API server. With the
// internal policy Local, a pod then reaches only the endpoints on its node.
func TestProxyOfVirtualNodes(t *testing.T) {
	m := newMachine(t)
	pod, other, a, b := m.startPod("client"), m.startPod("other"), m.startPod("a"), m.startPod("b")
	node := func(name string, pods ...*testPod) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, p := range pods {
			n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, p.ip.String()+"/32")
		}
		return n
	}
	local := corev1.ServiceInternalTrafficPolicyLocal
	s := service(func(s *corev1.Service) { s.Spec.InternalTrafficPolicy = &local })
	endpoints := slice(corev1.ProtocolTCP, endpointOn("n1", a.ip, "ready"), endpointOn("n2", b.ip, "ready"))
	client := fake.NewClientset(node("n1", pod, a), s, endpoints[0])
	_, stop := m.runProxy(client, func(o *Options) { o.Nodes = []string{"n1", "n2"} })
	defer stop()
	respondsFrom := func(p *testPod, want string) func() bool {
		return func() bool { return m.countResponses(p, "10.96.7.7:80", 10)[want] == 10 }
	}
	m.eventually("the pod of n1 reaches the endpoint on n1", respondsFrom(pod, "a"))
	if _, err := client.CoreV1().Nodes().Create(t.Context(), node("n2", other, b), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	m.eventually("the pod of n2 reaches the endpoint on n2", respondsFrom(other, "b"))
}

// TestKeepRules checks that the tables remain with KeepRules. RemoveUnused removes them, but not those
// of a running proxy.
func TestKeepRules(t *testing.T) {
	m := newMachine(t)
	_, stop := m.runProxy(fake.NewClientset(), func(o *Options) { o.KeepRules = true })
	m.eventually("the table exists", func() bool { return hasTable(t, tableName) })
	if err := RemoveUnused(); err != nil || !hasTable(t, tableName) {
		t.Errorf("RemoveUnused: error %v; want no error, and the table of the running proxy remains", err)
	}
	stop()
	if !hasTable(t, tableName) {
		t.Error("the table does not exist after a run with KeepRules, want it")
	}
	if err := RemoveUnused(); err != nil || hasTable(t, tableName) {
		t.Errorf("RemoveUnused: error %v; want no error, and the table is removed", err)
	}
}

// TestDetectOtherProxy checks that DetectOtherProxy finds kube-proxy by its table or chain.
func TestDetectOtherProxy(t *testing.T) {
	newMachine(t) // checks the requirements
	if found := DetectOtherProxy(); found != "" {
		t.Errorf("DetectOtherProxy = %q without another proxy, want \"\"", found)
	}
	for _, tc := range []struct{ table, chain, want string }{
		{"kube-proxy", "services", "nftables table kube-proxy"},
		{"nat", "KUBE-SERVICES", "iptables chain KUBE-SERVICES"},
	} {
		conn, err := connect()
		if err != nil {
			t.Fatal(err)
		}
		table := conn.AddTable(&nftables.Table{Name: tc.table, Family: nftables.TableFamilyIPv4})
		conn.AddChain(&nftables.Chain{Table: table, Name: tc.chain})
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
		if found := DetectOtherProxy(); found != tc.want {
			t.Errorf("DetectOtherProxy = %q, want %q", found, tc.want)
		}
		conn.DelTable(table)
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}
