package nodelifecycle

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/engine/nodelifecycle"
)

func newNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u-n"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}, {Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse}}}}
}

func newReadyPod(name, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: "u"}, Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
}

// renewLease renews a node's Lease every 10 s while alive returns true.
func renewLease(ctx context.Context, t *testing.T, api kubernetes.Interface, name string, alive func() bool) {
	leases := api.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease := func() *coordinationv1.Lease {
		now := metav1.NowMicro()
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceNodeLease}, Spec: coordinationv1.LeaseSpec{RenewTime: &now}}
	}
	if _, err := leases.Create(ctx, lease(), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Second):
		}
		if alive() {
			if _, err := leases.Update(ctx, lease(), metav1.UpdateOptions{}); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	}
}

// runController runs the controller over three nodes. The unresponsive ones do not renew their Leases
// from 31 s to 5 min.
func runController(t *testing.T, unresponsive []string, f func(ctx context.Context, api kubernetes.Interface)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		api := fake.NewClientset(newNode("a"), newNode("b"), newNode("c"), newReadyPod("p", "a"), newReadyPod("q", "b"))
		var wg sync.WaitGroup
		for _, name := range []string{"a", "b", "c"} {
			alive := func() bool {
				elapsed := time.Since(start)
				return !slices.Contains(unresponsive, name) || elapsed < 31*time.Second || elapsed > 5*time.Minute
			}
			wg.Go(func() { renewLease(ctx, t, api, name, alive) })
		}
		factory := informers.NewSharedInformerFactory(api, 0)
		wg.Go(func() {
			if err := Run(ctx, runner.Process{Environment: runner.Production(), Client: api, Informers: factory, Log: klog.Background()}, nodelifecycle.Defaults(), nil); err != nil {
				t.Error(err)
			}
		})
		f(ctx, api)
		cancel()
		wg.Wait()
		factory.Shutdown()
	})
}

// nodeState formats a node's Ready condition and taints.
func nodeState(ctx context.Context, t *testing.T, api kubernetes.Interface, name string) string {
	t.Helper()
	n, err := api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := []string{""}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			out[0] = string(c.Status)
		}
	}
	for _, taint := range n.Spec.Taints {
		out = append(out, strings.TrimPrefix(taint.Key, "node.kubernetes.io/")+":"+string(taint.Effect))
	}
	slices.Sort(out[1:])
	return strings.Join(out, " ")
}

func podReady(ctx context.Context, t *testing.T, api kubernetes.Interface, name string) bool {
	t.Helper()
	p, err := api.CoreV1().Pods("ns").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return podIsReady(p)
}

func TestUnresponsiveNodeIsTainted(t *testing.T) {
	runController(t, []string{"a"}, func(ctx context.Context, api kubernetes.Interface) {
		time.Sleep(30*time.Second + 49*time.Second)
		if got := nodeState(ctx, t, api, "a"); got != "True" {
			t.Errorf("state %q before the grace period, want True", got)
		}
		time.Sleep(6 * time.Second)
		if got := nodeState(ctx, t, api, "a"); got != "Unknown unreachable:NoExecute unreachable:NoSchedule" {
			t.Errorf("state %q 55 s after the last heartbeat, want Unknown and unreachable taints", got)
		}
		if p, q := podReady(ctx, t, api, "p"), podReady(ctx, t, api, "q"); p || !q {
			t.Errorf("pod p on the unresponsive node is ready: %t, pod q: %t, want false and true", p, q)
		}
		time.Sleep(5 * time.Minute)
		n, err := api.CoreV1().Nodes().Get(ctx, "a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n.Status.Conditions {
			c := &n.Status.Conditions[i]
			c.Status, c.LastHeartbeatTime = corev1.ConditionFalse, metav1.Now()
			if c.Type == corev1.NodeReady {
				c.Status = corev1.ConditionTrue
			}
		}
		if _, err := api.CoreV1().Nodes().UpdateStatus(ctx, n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := nodeState(ctx, t, api, "a"); got != "True" {
			t.Errorf("state %q after a new heartbeat, want True", got)
		}
	})
}

func TestNodeEvents(t *testing.T) {
	runController(t, []string{"a"}, func(ctx context.Context, api kubernetes.Interface) {
		time.Sleep(2 * time.Minute)
		if err := api.CoreV1().Nodes().Delete(ctx, "b", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		list, err := api.CoreV1().Events("").List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range list.Items {
			if e.InvolvedObject.Kind == "Node" {
				got = append(got, e.Reason+": "+e.Message)
			}
		}
		slices.Sort(got)
		want := []string{"NodeNotReady: Node a status is now: NodeNotReady", "RegisteredNode: Node a event: Registered Node a in Controller",
			"RegisteredNode: Node b event: Registered Node b in Controller", "RegisteredNode: Node c event: Registered Node c in Controller",
			"RemovingNode: Node b event: Removing Node b from Controller"}
		if !slices.Equal(got, want) {
			t.Errorf("events\n %s\nwant\n %s", strings.Join(got, "\n "), strings.Join(want, "\n "))
		}
	})
}

func TestNoExecuteTaintsAreNotAddedInFullDisruption(t *testing.T) {
	runController(t, []string{"a", "b", "c"}, func(ctx context.Context, api kubernetes.Interface) {
		for range 4 {
			time.Sleep(time.Minute)
			for _, name := range []string{"a", "b", "c"} {
				if got := nodeState(ctx, t, api, name); strings.Contains(got, "NoExecute") {
					t.Errorf("state of %s: %q, want no NoExecute taint", name, got)
				}
			}
		}
		if got := nodeState(ctx, t, api, "b"); got != "Unknown unreachable:NoSchedule" {
			t.Errorf("state of b: %q, want Unknown unreachable:NoSchedule", got)
		}
	})
}

func TestOtherTaintsAreUnchanged(t *testing.T) {
	runController(t, nil, func(ctx context.Context, api kubernetes.Interface) {
		n := newNode("b")
		n.Spec.Unschedulable = true
		n.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule},
			{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
		if _, err := api.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := nodeState(ctx, t, api, "b"); got != "True node.cloudprovider.kubernetes.io/uninitialized:NoSchedule unschedulable:NoSchedule" {
			t.Errorf("state of b: %q, want the taints uninitialized and unschedulable, without not-ready", got)
		}
	})
}
