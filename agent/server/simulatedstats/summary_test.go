package simulatedstats

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/nodepressure/usage"
)

type fakeAgent []*corev1.Pod

func (a fakeAgent) Pods(string) []*corev1.Pod      { return a }
func (a fakeAgent) BoundPods(string) []*corev1.Pod { return a }

// pod returns a pod that has run for a minute.
func pod(name, script, cpu string, now time.Time) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u-1"}}
	if script != "" {
		p.Annotations = map[string]string{usage.Annotation: script}
	}
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now.Add(-time.Minute))}}}}
	return p
}

func TestSummary(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	terminated := pod("terminated", "memory=1Gi", "1", now)
	terminated.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	a := fakeAgent{pod("growing", "memory=100,200@2m;cache=7", "250m", now), pod("invalid", "unknown", "1", now), pod("no-usage", "", "500m", now), terminated}
	n := &simulatedNode{name: "n1", agent: a, node: usage.Node{Since: now}}
	var err error
	if n.node.Capacity, err = usage.ParseCapacity("", 1000, 900, 1<<30); err != nil {
		t.Fatal(err)
	}
	if n.node.NodeScript, err = usage.ParseNode("memory=50"); err != nil {
		t.Fatal(err)
	}
	s := n.summary(now)
	if len(s.Pods) != 3 {
		t.Fatalf("%d pods, want the 3 running ones", len(s.Pods))
	}
	for i, want := range []struct{ memory, nano, ns uint64 }{{157, 250e6, 15e9}, {0, 1e9, 60e9}, {0, 500e6, 30e9}} {
		c := s.Pods[i].Containers[0]
		if *c.Memory.WorkingSetBytes != want.memory || *c.CPU.UsageNanoCores != want.nano || *c.CPU.UsageCoreNanoSeconds != want.ns {
			t.Errorf("%s: %d bytes, %d ncores, %d ns, want %+v", s.Pods[i].PodRef.Name, *c.Memory.WorkingSetBytes, *c.CPU.UsageNanoCores, *c.CPU.UsageCoreNanoSeconds, want)
		}
	}
	if node := s.Node; *node.Memory.WorkingSetBytes != 207 || *node.Memory.AvailableBytes != 793 || *node.CPU.UsageNanoCores != 1750e6 || *node.Fs.CapacityBytes != 1<<30 {
		t.Errorf("node: %d bytes, %d available, %d ncores, disk of %d bytes, want 207, 793, 1750e6 and 1 GiB", *node.Memory.WorkingSetBytes, *node.Memory.AvailableBytes, *node.CPU.UsageNanoCores, *node.Fs.CapacityBytes)
	}
}

func TestCertificateMatches(t *testing.T) {
	oneNode, twoNodes := []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}, []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, {ObjectMeta: metav1.ObjectMeta{Name: "n2"}}}
	cert := func(name string, usages ...x509.ExtKeyUsage) tls.Certificate {
		return tls.Certificate{Leaf: &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: usages}}
	}
	for name, tc := range map[string]struct {
		cert  tls.Certificate
		nodes []*corev1.Node
		want  bool
	}{
		"none":             {tls.Certificate{}, oneNode, false},
		"the node's":       {cert("system:node:n1", x509.ExtKeyUsageServerAuth), oneNode, true},
		"a client's only":  {cert("system:node:n1", x509.ExtKeyUsageClientAuth), oneNode, false},
		"another node's":   {cert("system:node:n2", x509.ExtKeyUsageServerAuth), oneNode, false},
		"one of two nodes": {cert("system:node:n1", x509.ExtKeyUsageServerAuth), twoNodes, false},
		"simulated nodes":  {cert(SimulatedNodesUser, x509.ExtKeyUsageServerAuth), twoNodes, true},
	} {
		if got := certificateMatches(tc.cert, tc.nodes); got != tc.want {
			t.Errorf("certificateMatches for %s: %v, want %v", name, got, tc.want)
		}
	}
	if got := localAddress("https://127.0.0.1:6443"); got != "127.0.0.1" {
		t.Errorf("localAddress = %s, want 127.0.0.1", got)
	}
}
