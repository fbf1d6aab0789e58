package invariants_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/store"
)

// unfinished are works that no controller finishes, by the text of the violation: the actor, which is not running, and
// the change.
var unfinished = map[string]struct {
	actor  string
	change func(t *testing.T, w *cluster.Cluster)
}{
	"replicaset default/rs does not have 2 pods": {"workload", func(_ *testing.T, w *cluster.Cluster) { createReplicaSet(w, 2) }},
	"budget default/b has an outdated status":    {"disruption", func(t *testing.T, w *cluster.Cluster) { createBudget(t, w, 0) }},
	"the record of pod default/web does not contain its end": {"records", func(_ *testing.T, w *cluster.Cluster) {
		w.Displacement.Evict("", "default", &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, func(error) {})
	}},
	"pod default/web is not evicted from node": {"taints", func(t *testing.T, w *cluster.Cluster) {
		for _, node := range []string{"n1", "n2"} {
			err := w.API().Update(store.Nodes, node, store.Precondition{}, func(o store.Object) error {
				if n, ok := o.(*corev1.Node); ok {
					n.Spec.Taints = []corev1.Taint{{Key: "out", Effect: corev1.TaintEffectNoExecute}}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}},
	"pod default/web has a stale condition DisruptionTarget": {"disruption", func(t *testing.T, w *cluster.Cluster) {
		updatePod(t, w, "default/web", func(p *corev1.Pod) {
			p.Status.Conditions = store.WithCondition(p.Status.Conditions, conversion.NewDisruptionTarget("EvictionByEvictionAPI", "", w.Now()))
		})
	}},
	"pod default/web is not evicted, although no budget refuses it": {"disruption", func(_ *testing.T, w *cluster.Cluster) {
		w.Notify(sim.Evicting{Pod: "default/web", UID: string(w.API().Pod("default/web").UID), Ended: func() bool { return false }})
	}},
	"the drain has not ended": {"disruption", func(_ *testing.T, w *cluster.Cluster) {
		w.Notify(sim.Task{Name: "the drain", Ended: func() bool { return false }})
	}},
}

// TestUnfinishedWorkViolatesLiveness checks that each kind of unfinished work violates Liveness.
func TestUnfinishedWorkViolatesLiveness(t *testing.T) {
	for text, c := range unfinished {
		t.Run(text, func(t *testing.T) {
			w := testWorld(t)
			w.Kill(c.actor, 24*time.Hour)
			c.change(t, w)
			checkLivenessViolation(t, w, text)
		})
	}
}

// TestLostRetryViolatesLiveness inserts a defect into the queues of the disruption controller: it does not retry after an
// error. Without the defect there is no violation.
func TestLostRetryViolatesLiveness(t *testing.T) {
	for _, loses := range []bool{false, true} {
		w := testWorld(t)
		w.Faults().Add(sim.FaultRule{Fault: sim.Refuse, Request: sim.RequestStatus, Times: 1})
		createBudget(t, w, 0)
		if loses {
			w.LoseRetries("disruption")
			checkLivenessViolation(t, w, "budget default/b has an outdated status")
			continue
		}
		if err := errors.Join(w.Run(10*time.Minute), w.CheckSettled()); err != nil {
			t.Errorf("with retries: got %v, want no violation", err)
		}
	}
}

func checkLivenessViolation(t *testing.T, w *cluster.Cluster, text string) {
	t.Helper()
	err := w.Run(10 * time.Minute)
	if err == nil {
		err = w.CheckSettled()
	}
	var v *sim.Violation
	if !errors.As(err, &v) || v.Invariant != "Liveness" || !strings.Contains(v.Detail, text) {
		t.Errorf("got %v, want a violation of Liveness with %q", err, text)
	}
}

// createReplicaSet creates ReplicaSet rs with pods that request nothing.
func createReplicaSet(w *cluster.Cluster, replicas int32) {
	labels := map[string]string{"app": "rs"}
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "rs", Generation: 1}}
	rs.Spec = appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}}
	_ = w.API().Create(rs)
}

// createBudget creates budget b of pod web.
func createBudget(t *testing.T, w *cluster.Cluster, minAvailable int32) {
	t.Helper()
	n := intstr.FromInt32(minAvailable)
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b", Generation: 1}}
	b.Spec.MinAvailable, b.Spec.Selector = &n, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	if err := w.API().Create(b); err != nil {
		t.Fatal(err)
	}
}
