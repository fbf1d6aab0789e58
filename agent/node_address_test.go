package agent_test

import (
	"fmt"
	"sync/atomic"
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

// TestNodeAddressChange checks that a node and its running pods report the new address after the
// machine changes networks.
func TestNodeAddressChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := boundPod("p", "n0", nil)
		pod.Spec.HostNetwork = true
		terminated := pod.DeepCopy()
		terminated.Name, terminated.UID = "terminated", "uid-y"
		terminated.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, HostIP: "192.0.2.9"}
		api := fake.NewClientset(pod, terminated)
		node := agent.NewNode("n0", resource.MustParse("8"), resource.MustParse("16Gi"))
		node.Status.NodeInfo.ContainerRuntimeVersion = "real://1"
		var current atomic.Value
		current.Store("192.0.2.1")
		addresses := func() []corev1.NodeAddress {
			return []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "n0"}, {Type: corev1.NodeInternalIP, Address: current.Load().(string)}}
		}
		node.Status.Addresses = addresses()
		a, err := agent.New(agent.Options{
			Client: api, Nodes: []*corev1.Node{node}, Log: klog.Background(), Addresses: addresses,
			Runtime: func(report func(runtime.Report)) runtime.Runtime { return simulated.New(report) },
		})
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = a.Run(t.Context()) }()
		for _, address := range []string{"192.0.2.1", "198.51.100.7", "127.0.0.1"} {
			current.Store(address)
			a.Report("n0")
			time.Sleep(5 * time.Second)
			synctest.Wait()
			n, err := api.CoreV1().Nodes().Get(t.Context(), "n0", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("[{Hostname n0} {InternalIP %s}]", address); fmt.Sprint(n.Status.Addresses) != want {
				t.Errorf("node addresses %v, want %s", n.Status.Addresses, want)
			}
			if s := get(t, api, "p").Status; s.Phase != corev1.PodRunning || s.HostIP != address || s.PodIP != address || s.PodIPs[0].IP != address {
				t.Errorf("status %+v of the pod, want address %s", s, address)
			}
			if s := get(t, api, "terminated").Status; s.HostIP != "192.0.2.9" {
				t.Errorf("host IP %s of the terminated pod with node address %s, want 192.0.2.9", s.HostIP, address)
			}
		}
	})
}
