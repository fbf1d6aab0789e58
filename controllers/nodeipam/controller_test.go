package nodeipam

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/engine/nodeipam"
)

// env is a fake API with a running controller that has four ranges, 198.18.0.0/24 to 198.18.3.0/24.
type env struct {
	*testing.T
	*fake.Clientset
	start, stop func()
}

// run runs a test with the controller in virtual time.
func run(t *testing.T, test func(e *env), objects ...runtime.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := &env{T: t, Clientset: fake.NewClientset(objects...)}
		e.start = func() {
			ctx, cancel := context.WithCancel(t.Context())
			factory := informers.NewSharedInformerFactory(e.Clientset, 0)
			var wg sync.WaitGroup
			wg.Go(func() {
				if err := Run(ctx, e.Clientset, factory, nodeipam.Options{Cluster: netip.MustParsePrefix("198.18.0.0/22"), Bits: 24}, klog.Background()); err != nil {
					t.Error(err)
				}
			})
			e.stop = func() { cancel(); wg.Wait(); factory.Shutdown() }
			e.settle()
		}
		e.start()
		defer func() { e.stop() }()
		test(e)
	})
}

// settle waits until the controller has synced its caches and handled all changes.
func (e *env) settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

func newNode(name, cidr string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("u-" + name)}}
	if n.Spec.PodCIDR = cidr; cidr != "" {
		n.Spec.PodCIDRs = []string{cidr}
	}
	return n
}

func newPod(name, node, ip string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}, Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Phase: phase, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}}}
}

func (e *env) createNodes(names ...string) {
	e.Helper()
	for _, name := range names {
		if _, err := e.CoreV1().Nodes().Create(e.Context(), newNode(name, ""), metav1.CreateOptions{}); err != nil {
			e.Fatal(err)
		}
		e.settle()
	}
}

func (e *env) deleteNode(name string) {
	e.Helper()
	if err := e.CoreV1().Nodes().Delete(e.Context(), name, metav1.DeleteOptions{}); err != nil {
		e.Fatal(err)
	}
	e.settle()
}

func (e *env) check(want map[string]string) {
	e.Helper()
	for name, cidr := range want {
		n, err := e.CoreV1().Nodes().Get(e.Context(), name, metav1.GetOptions{})
		if err != nil {
			e.Fatal(err)
		}
		if n.Spec.PodCIDR != cidr || strings.Join(n.Spec.PodCIDRs, " ") != cidr {
			e.Errorf("node %s has podCIDR %q and podCIDRs %q, want %q", name, n.Spec.PodCIDR, n.Spec.PodCIDRs, cidr)
		}
	}
}

func (e *env) countEvents(node, reason string) (count int) {
	e.Helper()
	list, err := e.CoreV1().Events("").List(e.Context(), metav1.ListOptions{})
	if err != nil {
		e.Fatal(err)
	}
	for i := range list.Items {
		if v := &list.Items[i]; v.InvolvedObject.Name == node && v.Reason == reason {
			count++
		}
	}
	return count
}

func TestNodesGetDistinctRanges(t *testing.T) {
	run(t, func(e *env) {
		e.createNodes("a", "b")
		e.check(map[string]string{"existing": "198.18.0.0/24", "outside": "203.0.113.0/24", "a": "198.18.1.0/24", "b": "198.18.2.0/24"})
	}, newNode("existing", "198.18.0.0/24"), newNode("outside", "203.0.113.0/24"))
}

// TestRestart checks that a restarted controller does not allocate a range that is in use.
func TestRestart(t *testing.T) {
	run(t, func(e *env) {
		e.createNodes("a", "b")
		e.deleteNode("a")
		e.stop()
		e.start()
		e.createNodes("c", "d", "e")
		e.check(map[string]string{"b": "198.18.1.0/24", "c": "198.18.0.0/24", "d": "198.18.2.0/24", "e": "198.18.3.0/24"})
	})
}

// TestRangeOfPods checks that a range is not allocated again while pods of a deleted node have addresses in it.
// Finished pods do not count.
func TestRangeOfPods(t *testing.T) {
	run(t, func(e *env) {
		e.createNodes("a")
		e.check(map[string]string{"a": "198.18.2.0/24"})
		e.createNodes("b")
		e.createNodes("c")
		e.check(map[string]string{"b": "198.18.3.0/24", "c": ""})
		if n := e.countEvents("c", "CIDRNotAvailable"); n == 0 {
			t.Error("node c has no event CIDRNotAvailable, want at least one")
		}
		if err := e.CoreV1().Pods("ns").Delete(t.Context(), "running", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * exhaustedDelay)
		e.settle()
		e.check(map[string]string{"c": "198.18.1.0/24"})
	}, newNode("x", "198.18.0.0/24"), newPod("running", "deleted", "198.18.1.7", corev1.PodRunning), newPod("succeeded", "deleted", "198.18.2.7", corev1.PodSucceeded), newPod("failed", "deleted", "198.18.3.7", corev1.PodFailed))
}

// TestRecreatedNodeGetsItsRange checks that a node that is created again gets its old range, although its pods have
// addresses in it.
func TestRecreatedNodeGetsItsRange(t *testing.T) {
	run(t, func(e *env) {
		e.createNodes("a", "b")
		if _, err := e.CoreV1().Pods("ns").Create(t.Context(), newPod("p", "a", "198.18.0.5", corev1.PodRunning), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		e.deleteNode("a")
		e.createNodes("c", "d", "a")
		e.check(map[string]string{"a": "198.18.0.0/24", "c": "198.18.2.0/24", "d": "198.18.3.0/24"})
	})
}

func TestOverlapIsReported(t *testing.T) {
	run(t, func(e *env) {
		if _, err := e.CoreV1().Nodes().Create(t.Context(), newNode("overlapping", "198.18.0.128/25"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		e.settle()
		if n := e.countEvents("overlapping", "CIDROverlap"); n != 1 {
			t.Errorf("%d events CIDROverlap, want 1", n)
		}
		if n := e.countEvents("first", "CIDROverlap"); n != 0 {
			t.Errorf("%d events about the first node, want none", n)
		}
	}, newNode("first", "198.18.0.0/24"))
}
