package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/budgets"
	"github.com/berthproject/berth/sim/store"
)

// disruption is the disruption controller: it updates the status of budgets and removes
// outdated DisruptionTarget conditions.
type disruption struct {
	*sim.Client
	w           *Cluster
	budgetIndex *budgets.Index
	queue       *sim.WorkQueue // by budget
	staleQueue  *sim.WorkQueue // by pod
}

// recountDelay is how long changes of a budget are collected.
const recountDelay = 100 * time.Millisecond

func newDisruption(w *Cluster) *disruption {
	d := &disruption{w: w}
	d.Client = w.NewClient("disruption", d, store.ReplicationControllers, store.Deployments, store.ReplicaSets, store.StatefulSets, store.PodDisruptionBudgets, store.Pods)
	d.queue, d.staleQueue = sim.NewWorkQueue(d.Client, d.reconcile), sim.NewWorkQueue(d.Client, d.clearDisruptionTarget)
	d.Start()
	return d
}

// OnStop implements sim.Controller.
func (d *disruption) OnStop() {
	d.queue.Reset()
	d.staleQueue.Reset()
}

// OnChange implements sim.Controller.
func (d *disruption) OnChange(k store.Kind, old, now store.Object) {
	about := now
	if now == nil {
		about = old
	}
	affected := d.budgetIndex.Update(k, store.KeyOf(about), now)
	if k != store.Pods && k != store.PodDisruptionBudgets {
		affected = d.budgetIndex.Names() // the expected pods may have changed
	}
	for _, key := range affected {
		d.queue.Add(key, recountDelay)
	}
	if p, ok := now.(*corev1.Pod); ok {
		d.enqueueStale(p)
	}
}

// OnSynced implements sim.Controller: it enqueues all budgets and pods.
func (d *disruption) OnSynced() {
	d.budgetIndex = budgets.NewIndex()
	for _, k := range []store.Kind{store.PodDisruptionBudgets, store.Pods} {
		for _, key := range d.Keys(k) {
			d.budgetIndex.Update(k, key, d.Cached(k)[key])
		}
	}
	for _, key := range d.budgetIndex.Names() {
		d.queue.Add(key, 0)
	}
	for _, key := range d.Keys(store.Pods) {
		d.enqueueStale(d.Pod(key))
	}
}

// reconcile updates the status of a budget and creates its events.
func (d *disruption) reconcile(key string, done func(time.Duration, error)) {
	b, ok := d.Cached(store.PodDisruptionBudgets)[key].(*policyv1.PodDisruptionBudget)
	if !ok {
		done(0, nil)
		return
	}
	count := d.w.ledger.StatusInputs(b, d.budgetIndex.Members(key), d.lookup).ComputeStatus()
	for _, e := range count.Events {
		var about store.Object = b
		if e.Pod != nil {
			about = d.Pod(e.Pod.Key())
		}
		if about != nil {
			_ = d.w.createEventOnce(about, "controllermanager", e.Reason, "", e.Note, e.Note)
		}
	}
	next := d.w.budgetStatus(b, &count)
	if sameStatus(&b.Status, &next) {
		done(count.RequeueAfter, nil)
		return
	}
	d.Request("status", key, func() error {
		return d.w.API().Update(store.PodDisruptionBudgets, key, store.Precondition{UID: string(b.UID), ResourceVersion: b.ResourceVersion}, func(o store.Object) error {
			if pdb, ok := o.(*policyv1.PodDisruptionBudget); ok {
				pdb.Status = next
			}
			return nil
		})
	}, func(err error) { done(count.RequeueAfter, err) })
}

func (d *disruption) lookup(k store.Kind, key string) (store.Object, bool) {
	o, ok := d.Cached(k)[key]
	return o, ok
}

// budgetStatus converts a count to an API status.
func (w *Cluster) budgetStatus(b *policyv1.PodDisruptionBudget, c *budget.StatusResult) policyv1.PodDisruptionBudgetStatus {
	s := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: c.ObservedGeneration, DisruptionsAllowed: c.DisruptionsAllowed,
		CurrentHealthy: c.CurrentHealthy, DesiredHealthy: c.DesiredHealthy, ExpectedPods: c.ExpectedPods}
	for i, name := range c.Disrupted {
		if s.DisruptedPods == nil {
			s.DisruptedPods = map[string]metav1.Time{}
		}
		s.DisruptedPods[name] = metav1.NewTime(c.DisruptedAt[i])
	}
	allowed := metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: c.Reason, Message: c.Message,
		ObservedGeneration: c.ObservedGeneration, LastTransitionTime: metav1.NewTime(w.Now())}
	if c.Reason == budget.SufficientPods {
		allowed.Status = metav1.ConditionTrue
	}
	for i := range b.Status.Conditions {
		if was := &b.Status.Conditions[i]; was.Type == allowed.Type && was.Status == allowed.Status {
			allowed.LastTransitionTime = was.LastTransitionTime
		}
	}
	s.Conditions = []metav1.Condition{allowed}
	return s
}

// sameStatus reports whether two statuses are equal.
func sameStatus(a, b *policyv1.PodDisruptionBudgetStatus) bool {
	same := a.DisruptionsAllowed == b.DisruptionsAllowed && a.CurrentHealthy == b.CurrentHealthy && a.DesiredHealthy == b.DesiredHealthy &&
		a.ExpectedPods == b.ExpectedPods && a.ObservedGeneration == b.ObservedGeneration && len(a.DisruptedPods) == len(b.DisruptedPods)
	for name := range b.DisruptedPods {
		_, there := a.DisruptedPods[name]
		same = same && there
	}
	return same && len(a.Conditions) == 1 && a.Conditions[0].Reason == b.Conditions[0].Reason && a.Conditions[0].Message == b.Conditions[0].Message
}

// enqueueStale enqueues a pod for when its DisruptionTarget condition expires.
func (d *disruption) enqueueStale(p *corev1.Pod) {
	if left, ends := d.staleAfter(p); ends {
		d.staleQueue.Add(store.KeyOf(p), left)
	}
}

// staleAfter returns the time until the pod's DisruptionTarget condition expires, and whether
// it does.
func (d *disruption) staleAfter(p *corev1.Pod) (time.Duration, bool) {
	c := store.DisruptionTarget(p)
	if c == nil {
		return 0, false
	}
	return budget.StaleConditionAfter(d.w.BudgetPod(p), c.LastTransitionTime.Time, d.w.Now())
}

// clearDisruptionTarget sets an expired DisruptionTarget condition to false.
func (d *disruption) clearDisruptionTarget(key string, done func(time.Duration, error)) {
	p := d.Pod(key)
	if p == nil {
		done(0, nil)
		return
	}
	if left, ends := d.staleAfter(p); !ends || left > 0 {
		done(left, nil)
		return
	}
	d.Request("reset", key, func() error {
		return d.w.API().UpdatePod(key, store.Precondition{UID: string(p.UID), ResourceVersion: p.ResourceVersion}, func(o *corev1.Pod) error {
			o.Status.Conditions = store.WithCondition(o.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget,
				Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(d.w.Now())})
			d.w.Log("disruption", "reset", key, key+" is not displaced after all")
			return nil
		})
	}, func(err error) { done(0, err) })
}
