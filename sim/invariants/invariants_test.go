package invariants_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/invariants"
	"github.com/berthproject/berth/sim/kubeclient"
	"github.com/berthproject/berth/sim/scheduler"
	"github.com/berthproject/berth/sim/store"
)

// violations are functions that violate an invariant, by the name of the invariant.
var violations = map[string]func(t *testing.T, w *cluster.Cluster){
	"NeverMoves": func(t *testing.T, w *cluster.Cluster) {
		updatePod(t, w, "default/web", func(p *corev1.Pod) { p.Spec.NodeName = "elsewhere" })
	},
	"BoundOnce": func(_ *testing.T, w *cluster.Cluster) {
		for _, node := range []string{"n1", "n2"} { // the first one is not sent
			w.Notify(scheduler.Stepped{Effects: []scheduling.Effect{scheduling.Bind{ID: 1000, Pod: schedulerPod(w, "default/pending"), Node: node}}})
		}
	},
	"NodeCapacity": func(_ *testing.T, w *cluster.Cluster) {
		w.Scheduler.Send(scheduling.Bind{ID: 1000, Pod: schedulerPod(w, "default/pending"), Node: "n1"})
	},
	"BudgetRespected": func(t *testing.T, w *cluster.Cluster) {
		addWrongBudget(t, w)
		preemptFor(w, "default/pending", "default/web", true)
	},
	"BudgetEntries": func(t *testing.T, w *cluster.Cluster) {
		addWrongBudget(t, w)
		preemptFor(w, "default/pending", "default/web", false)
	},
	"DebitRefunded": func(t *testing.T, w *cluster.Cluster) {
		createBudget(t, w, 0)
		w.After(time.Second, func() {
			_ = w.API().Update(store.PodDisruptionBudgets, "default/b", store.Precondition{}, func(o store.Object) error {
				if b, ok := o.(*policyv1.PodDisruptionBudget); ok {
					b.Status.DisruptedPods = map[string]metav1.Time{"web": metav1.NewTime(w.Now())}
				}
				return nil
			})
		})
	},
	"DeletesObserved": func(_ *testing.T, w *cluster.Cluster) {
		w.Notify(kubeclient.DeletingPod{Actor: "podgc", Pod: w.API().Pod("default/web"), Cached: w.API().Pod("default/db")})
	},
	"DisplacedOnce": func(_ *testing.T, w *cluster.Cluster) {
		w.Notify(kubeclient.DeletingPod{Actor: "taints", Pod: w.API().Pod("default/web")}) // without the condition
	},
	"Liveness": func(t *testing.T, w *cluster.Cluster) {
		w.Kill("disruption", 24*time.Hour)
		createBudget(t, w, 0)
	},
	"LowerVictims": func(_ *testing.T, w *cluster.Cluster) { preemptFor(w, "default/web", "default/db", false) },
	"NominatedCapacity": func(_ *testing.T, w *cluster.Cluster) {
		nominated := *schedulerPod(w, "default/pending")
		nominated.NominatedNodeName = "n2"
		w.Scheduler.Machine().State().UpsertPod(&nominated)
		low := *schedulerPod(w, "default/low")
		w.Notify(scheduler.Stepped{Effects: []scheduling.Effect{scheduling.Bind{ID: 1000, Pod: &low, Node: "n2"}}})
	},
	"PendingTracked": func(t *testing.T, w *cluster.Cluster) {
		c := framework.DefaultConfig()
		c.Name = "other"
		p, err := framework.NewProfile(c)
		if err != nil {
			t.Fatal(err)
		}
		w.Invariants.AddProfile(p) // the scheduler does not have it
		_ = w.API().Create(testPod("other", "1", 0, func(p *corev1.Pod) { p.Spec.SchedulerName = "other" }))
	},
	"NoBusyLoop": func(_ *testing.T, w *cluster.Cluster) {
		for range scheduler.MaxStepsAtTime + 2 {
			w.Scheduler.ScheduleWake(w.Now())
		}
	},
	"StateEqualsStore": func(t *testing.T, w *cluster.Cluster) {
		hideFromScheduler(w, func() {
			updatePod(t, w, "default/web", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "other"} })
		})
	},
	"NoPendingPodFits": func(_ *testing.T, w *cluster.Cluster) {
		hideFromScheduler(w, func() {
			n := testNode("n9", "64")
			_ = w.API().Create(n)
			m, _ := w.Scheduler.Converter().Compile(n).(*model.Node)
			w.Scheduler.Machine().State().UpsertNode(m)
		})
		w.Invariants.CheckNoPodWouldFit()
	},
	"NoPendingPodCouldPreempt": func(_ *testing.T, w *cluster.Cluster) {
		hideFromScheduler(w, func() {
			n, p := testNode("n9", "64"), testPod("filler", "64", -1, func(p *corev1.Pod) { p.Spec.NodeName = "n9" })
			_, _ = w.API().Create(n), w.API().Create(p)
			m, _ := w.Scheduler.Converter().Compile(n).(*model.Node)
			w.Scheduler.Machine().State().UpsertNode(m)
			w.Scheduler.Machine().State().UpsertPod(w.Scheduler.Converter().Pod(p))
		})
		w.Invariants.CheckNoPodWouldFit()
	},
}

// TestEveryInvariantCanFail checks that each invariant is violated by its function.
func TestEveryInvariantCanFail(t *testing.T) {
	for name := range invariants.All {
		violate, ok := violations[name]
		if !ok {
			t.Errorf("no function violates %s", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := testWorld(t)
			violate(t, w)
			w.Scheduler.ScheduleStep()
			err := w.Run(10 * time.Minute)
			if err == nil {
				err = w.CheckSettled()
			}
			var v *sim.Violation
			if !errors.As(err, &v) || v.Invariant != name {
				t.Errorf("got %v, want a violation of %s", err, name)
			}
		})
	}
	w := testWorld(t)
	if err := errors.Join(w.Run(10*time.Minute), w.CheckSettled()); err != nil {
		t.Errorf("without a call of a violating function: got %v, want no violation", err)
	}
}

// testWorld returns a world after five minutes: two nodes, the pods web, db and low on them, and the pod pending, which
// does not fit on any node.
func testWorld(t *testing.T) *cluster.Cluster {
	t.Helper()
	o, err := cluster.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	w := cluster.New(o)
	t.Cleanup(w.Close)
	objects := []store.Object{testNode("n1", "4"), testNode("n2", "4"), testPod("web", "3", 10, nil), testPod("db", "3", 100, nil),
		testPod("pending", "8", 1000, nil), testPod("low", "1", -5, nil)}
	for _, o := range objects {
		if err := w.API().Create(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Run(5 * time.Minute); err != nil {
		t.Fatal(err)
	}
	return w
}

func testNode(name, cpu string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110")}
	store.ApplyDefaults(n)
	return n
}

func testPod(name, cpu string, priority int32, f func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}}
	p.Spec.Priority = &priority
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}
	if f != nil {
		f(p)
	}
	store.ApplyDefaults(p)
	return p
}

// addWrongBudget adds a budget that allows no disruption of web but has a wrong status.
func addWrongBudget(t *testing.T, w *cluster.Cluster) {
	t.Helper()
	minAvailable := intstr.FromInt32(1)
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	b.Spec.MinAvailable, b.Spec.Selector = &minAvailable, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	if err := w.API().Create(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Run(7 * time.Minute); err != nil {
		t.Fatal(err)
	}
	w.Kill("disruption", time.Hour) // the status is not corrected
	err := w.API().Update(store.PodDisruptionBudgets, "default/web", store.Precondition{}, func(o store.Object) error {
		if b, ok := o.(*policyv1.PodDisruptionBudget); ok {
			b.Status.DisruptionsAllowed = 1
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// preemptFor sends a preemption to the API, with or without debits.
func preemptFor(w *cluster.Cluster, pod, victim string, debit bool) {
	v := schedulerPod(w, victim)
	plan := &decision.Preemption{Outcome: decision.PreemptionNominated, Node: v.NodeName, Victims: []*model.Pod{v}}
	for _, o := range w.API().List(store.PodDisruptionBudgets) {
		if b, ok := w.Scheduler.Converter().Compile(o).(*model.Budget); ok && debit {
			plan.Debits = []decision.Debit{{Budget: b, Granted: []string{v.Name}}}
		}
	}
	w.Scheduler.Send(scheduling.Preempt{ID: 1000, Pod: schedulerPod(w, pod), Plan: plan, Choice: 1})
}

func schedulerPod(w *cluster.Cluster, key string) *model.Pod {
	return w.Scheduler.Converter().Pod(w.API().Pod(key))
}

// hideFromScheduler makes a change that no watch delivers.
func hideFromScheduler(w *cluster.Cluster, f func()) {
	hook := w.API().OnCommit
	w.API().OnCommit = func(store.Change) {}
	f()
	w.API().OnCommit = hook
}

func updatePod(t *testing.T, w *cluster.Cluster, key string, f func(*corev1.Pod)) {
	t.Helper()
	if err := w.API().UpdatePod(key, store.Precondition{}, func(p *corev1.Pod) error { f(p); return nil }); err != nil {
		t.Fatal(err)
	}
}
