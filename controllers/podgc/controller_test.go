package podgc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/podgc"
	"github.com/berthproject/berth/internal/displacer"
)

// fakeDisplacer deletes pods. It records the name of each, whether it fails, and its grace period. It also records
// whether its cause and rule are those of a pod of a deleted node.
type fakeDisplacer struct {
	client    kubernetes.Interface
	mu        sync.Mutex
	displaced []string
}

func (d *fakeDisplacer) Displace(ctx context.Context, x displacer.Displacement) error {
	d.mu.Lock()
	d.displaced = append(d.displaced, fmt.Sprint(x.Pod.Name, " ", x.Failed, " ", *x.Grace, " ", x.Cause == displacement.PodGC, " ", strings.Contains(x.Rule, "node deleted not seen since ")))
	d.mu.Unlock()
	return d.client.CoreV1().Pods(x.Pod.Namespace).Delete(ctx, x.Pod.Name, metav1.DeleteOptions{})
}

func newPod(name, node string, phase corev1.PodPhase, deleting bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID("u-" + name)}, Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase}}
	if deleting {
		now := metav1.Now()
		p.DeletionTimestamp, p.Finalizers = &now, []string{"example.com/keep"}
	}
	return p
}

func newNode(name string, ready corev1.ConditionStatus, taint string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
	if taint != "" {
		n.Spec.Taints = []corev1.Taint{{Key: taint, Effect: corev1.TaintEffectNoExecute}}
	}
	return n
}

func TestOrphanedAndTerminatedPodsAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		objects := []*corev1.Pod{
			newPod("running", "ready", corev1.PodRunning, false), newPod("out-of-service", "out-of-service", corev1.PodRunning, true), newPod("unreachable", "unreachable", corev1.PodRunning, true),
			newPod("orphan", "deleted", corev1.PodRunning, false), newPod("finished", "deleted", corev1.PodSucceeded, false), newPod("unbound", "", corev1.PodPending, true),
			newPod("old", "ready", corev1.PodFailed, false), newPod("older", "ready", corev1.PodFailed, false),
		}
		api := fake.NewClientset(newNode("ready", corev1.ConditionTrue, ""), newNode("out-of-service", corev1.ConditionUnknown, corev1.TaintNodeOutOfService), newNode("unreachable", corev1.ConditionUnknown, ""))
		for i, p := range objects {
			p.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Duration(i) * time.Minute))
			if err := api.Tracker().Add(p); err != nil {
				t.Fatal(err)
			}
		}
		d := &fakeDisplacer{client: api}
		factory := informers.NewSharedInformerFactory(api, 0)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := Run(ctx, runner.Process{Environment: runner.Production(), Client: api, Informers: factory, Log: klog.Background()}, d, podgc.Options{Threshold: 2, Quarantine: podgc.Quarantine}, nil); err != nil {
				t.Error(err)
			}
		})
		remainingPods := func() string {
			list, err := api.CoreV1().Pods("ns").List(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, p := range list.Items {
				names = append(names, p.Name)
			}
			slices.Sort(names)
			return strings.Join(names, " ")
		}
		time.Sleep(10 * time.Second)
		if got := remainingPods(); got != "finished old orphan running unreachable" {
			t.Errorf("pods %q after a collection, want finished old orphan running unreachable", got)
		}
		time.Sleep(time.Minute)
		if got := remainingPods(); got != "old running unreachable" {
			t.Errorf("pods %q after a minute, want old running unreachable", got)
		}
		if want := []string{"orphan true 0 true true"}; !slices.Equal(d.displaced, want) {
			t.Errorf("displaced %q, want %q", d.displaced, want)
		}
		cancel()
		wg.Wait()
		factory.Shutdown()
	})
}
