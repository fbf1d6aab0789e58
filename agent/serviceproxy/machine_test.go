//go:build linux

package serviceproxy

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/internal/testkit"
)

// machine is a bridge with pods in the test's network namespace.
type machine struct {
	t    *testing.T
	net  *network.Network
	pods map[string]*testPod
}

// testPod is a network namespace that responds to connections with its name.
type testPod struct {
	name string
	ip   netip.Addr
	ns   netns.NsHandle
}

// newMachine returns a machine without pods. It skips the test without root or nftables.
func newMachine(t *testing.T) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		testkit.SkipOrFail(t, "root", "creating network namespaces requires root")
	}
	if err := Check(); err != nil {
		testkit.SkipOrFail(t, "nftables", err.Error())
	}
	o := network.Options{Dir: filepath.Join(t.TempDir(), "ips"), CIDR: "198.51.100.0/26", Bridge: "svcbr"}
	n, err := network.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = network.Remove(t.Context(), o) })
	prepareKernel()
	// A connection of an earlier test with the same addresses and ports would keep its endpoint.
	if err := netlink.ConntrackTableFlush(netlink.ConntrackTable); err != nil {
		t.Fatal(err)
	}
	// Packets of the machine need a route to the Service's address before it is rewritten.
	link, _ := netlink.LinkByName(o.Bridge)
	_, defaultRoute, _ := net.ParseCIDR("0.0.0.0/0")
	_ = netlink.RouteReplace(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: defaultRoute, Gw: net.ParseIP("198.51.100.60"), Src: net.ParseIP("198.51.100.1")})
	t.Cleanup(func() { _ = Remove() })
	return &machine{t: t, net: n, pods: map[string]*testPod{}}
}

// runInside runs f in the namespace of a pod.
func (p *testPod) runInside(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := netns.Set(p.ns); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}

// startPod starts a pod that responds to TCP at port 8080 with its name and the client's address, and to
// UDP with its name.
func (m *machine) startPod(name string) *testPod {
	m.t.Helper()
	created := make(chan netns.NsHandle, 1)
	go func() {
		runtime.LockOSThread()
		ns, err := netns.New()
		if err != nil {
			m.t.Error(err)
		}
		created <- ns
	}()
	p := &testPod{name: name, ns: <-created}
	file := os.NewFile(uintptr(p.ns), name)
	m.t.Cleanup(func() { _ = file.Close() })
	var err error
	if p.ip, err = m.net.Attach(name, file); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = m.net.Detach(name) })
	var l net.Listener
	var u *net.UDPConn
	if err := p.runInside(func() (err error) {
		if l, err = net.Listen("tcp4", ":8080"); err == nil {
			u, err = net.ListenUDP("udp4", &net.UDPAddr{Port: 8080})
		}
		return err
	}); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = l.Close(); _ = u.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			client, _, _ := net.SplitHostPort(c.RemoteAddr().String())
			_, _ = io.WriteString(c, name+" "+client)
			_ = c.Close()
		}
	}()
	go func() {
		for b := make([]byte, 64); ; {
			_, client, err := u.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			_, _ = u.WriteToUDPAddrPort([]byte(name), client)
		}
	}()
	m.pods[name] = p
	return p
}

// request connects from a pod, or from the machine if p is nil, and returns the response.
func (m *machine) request(p *testPod, address string) (response string, err error) {
	return m.requestWithin(p, address, 30*time.Second)
}

// requestWithin is request with a timeout of the connection.
func (m *machine) requestWithin(p *testPod, address string, timeout time.Duration) (response string, err error) {
	f := func() error {
		c, err := net.DialTimeout("tcp4", address, timeout)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(30 * time.Second))
		text, err := io.ReadAll(c)
		response = string(text)
		return err
	}
	if p == nil {
		return response, f()
	}
	err = p.runInside(f)
	return response, err
}

// service returns a Service with the cluster IP 10.96.7.7 and TCP port 80.
func service(change func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.7.7", ClusterIPs: []string{"10.96.7.7"}, SessionAffinity: corev1.ServiceAffinityNone,
		Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}}}}
	if change != nil {
		change(s)
	}
	return s
}

// slice returns the EndpointSlice of service with the endpoints at port 8080.
func slice(protocol corev1.Protocol, eps ...discoveryv1.Endpoint) []*discoveryv1.EndpointSlice {
	name, port := "http", int32(8080)
	return []*discoveryv1.EndpointSlice{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}}, Endpoints: eps}}
}

// endpointOn returns an endpoint on a node. state is ready, serving (and terminating) or terminated.
func endpointOn(node string, ip netip.Addr, state string) discoveryv1.Endpoint {
	ready, serving, terminating := state == "ready", state != "terminated", state != "ready"
	return discoveryv1.Endpoint{Addresses: []string{ip.String()}, NodeName: &node, Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating}}
}

// commit commits r and fails the test on an error.
func (m *machine) commit(r *ruleset) {
	m.t.Helper()
	if err := r.commit(); err != nil {
		m.t.Fatal(err)
	}
}

// newTestRuleset returns a ruleset of a machine with node n1.
func newTestRuleset() *ruleset {
	r := newRuleset(false)
	r.loc = location{nodes: map[string]bool{"n1": true}}
	r.setPodCIDRs([]netip.Prefix{netip.MustParsePrefix("198.51.100.0/26")})
	return r
}

// countResponses makes n requests and returns the number of responses of each pod.
func (m *machine) countResponses(client *testPod, address string, n int) map[string]int {
	m.t.Helper()
	out := map[string]int{}
	for range n {
		text, err := m.request(client, address)
		if err != nil {
			text = "error: " + err.Error()
		}
		var name string
		_, _ = fmt.Sscan(text, &name)
		out[name]++
	}
	return out
}

// newLog returns a logger that writes to the test's output.
func newLog(t *testing.T) klog.Logger { return ktesting.NewLogger(t, ktesting.NewConfig()) }
