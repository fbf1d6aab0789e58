package agent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
)

// startNode runs the agent of a simulated node; stop ends it.
func startNode(t *testing.T, api *fake.Clientset, name string, timeout time.Duration) (stop func()) {
	t.Helper()
	a, err := agent.New(agent.Options{
		Client: api, Nodes: []*corev1.Node{agent.NewNode(name, resource.MustParse("8"), resource.MustParse("16Gi"))}, Log: klog.Background(), PodCIDRTimeout: timeout,
		Runtime: func(report func(runtime.Report)) runtime.Runtime { return simulated.New(report) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// nodeState returns a node's range, its internal IP, and the message of its Ready condition if it is
// not ready.
func nodeState(t *testing.T, api *fake.Clientset, name string) (cidr, address, notReady string) {
	t.Helper()
	time.Sleep(time.Second)
	synctest.Wait()
	n, err := api.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			notReady = c.Message
		}
	}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			address = a.Address
		}
	}
	return n.Spec.PodCIDR, address, notReady
}

// TestWaitsForPodCIDR checks that a node without a range does not stay ready. The node uses the range from the cluster
// for its own address and those of its pods, also after a restart.
func TestWaitsForPodCIDR(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := boundPod("first", "n0", nil)
		api := fake.NewClientset(first)
		stop := startNode(t, api, "n0", -1)
		time.Sleep(time.Hour)
		if cidr, address, notReady := nodeState(t, api, "n0"); cidr != "" || address != "" || !strings.Contains(notReady, "spec.podCIDR is not set") {
			t.Errorf("without a range: podCIDR %q, address %q, not ready: %q, want none and not ready", cidr, address, notReady)
		}
		if err := agent.SetPodCIDR(t.Context(), api.CoreV1().Nodes().Patch, "n0", "10.200.7.0/24"); err != nil {
			t.Fatal(err)
		}
		if _, address, notReady := nodeState(t, api, "n0"); address != "10.200.7.1" || notReady != "" {
			t.Errorf("with a range: address %q, not ready: %q, want 10.200.7.1 and a ready node", address, notReady)
		}
		if p := get(t, api, "first"); p.Status.PodIP != "10.200.7.2" || p.Status.HostIP != "10.200.7.1" {
			t.Errorf("pod IP %q, host IP %q, want 10.200.7.2 and 10.200.7.1", p.Status.PodIP, p.Status.HostIP)
		}
		stop()
		stop = startNode(t, api, "n0", -1)
		defer stop()
		second := boundPod("second", "n0", nil)
		second.UID = "uid-second"
		if _, err := api.CoreV1().Pods("default").Create(t.Context(), second, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, address, notReady := nodeState(t, api, "n0"); address != "10.200.7.1" || notReady != "" {
			t.Errorf("after a restart: address %q, not ready: %q, want 10.200.7.1 and a ready node", address, notReady)
		}
		if p := get(t, api, "second"); p.Status.PodIP != "10.200.7.3" {
			t.Errorf("IP %q of the second pod, want 10.200.7.3", p.Status.PodIP)
		}
	})
}

// TestLocalPodCIDR checks that nodes of two agents get different ranges where no controller allocates
// them.
func TestLocalPodCIDR(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		for _, name := range []string{"n0", "m0"} {
			defer startNode(t, api, name, 10*time.Second)()
		}
		if cidr, address, _ := nodeState(t, api, "n0"); cidr != "" || address != "" {
			t.Errorf("before the timeout: podCIDR %q, address %q, want none", cidr, address)
		}
		time.Sleep(10 * time.Second)
		cidrA, addressA, notReady := nodeState(t, api, "n0")
		cidrB, addressB, _ := nodeState(t, api, "m0")
		if cidrA == "" || cidrA == cidrB || addressA == "" || addressA == addressB || notReady != "" {
			t.Errorf("podCIDRs %q and %q, addresses %q and %q, not ready: %q, want different ranges of ready nodes", cidrA, cidrB, addressA, addressB, notReady)
		}
	})
}
