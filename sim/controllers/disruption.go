package controllers

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/berthproject/berth/internal/budgetstatus"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/budgets"
	"github.com/berthproject/berth/sim/store"
)

// disruption is the disruption controller: it updates the status of budgets and removes
// outdated DisruptionTarget conditions.
type disruption struct {
	*sim.Client
	w           *sim.World
	ledger      *budgets.Ledger
	budgetIndex *budgets.Index
	queue       *sim.WorkQueue // by budget
	staleQueue  *sim.WorkQueue // by pod
}

// recountDelay is how long changes of a budget are collected.
const recountDelay = 100 * time.Millisecond

// StartDisruption starts the disruption controller.
func StartDisruption(w *sim.World, ledger *budgets.Ledger) {
	d := &disruption{w: w, ledger: ledger}
	d.Client = w.NewClient("disruption", d, store.ReplicationControllers, store.Deployments, store.ReplicaSets, store.StatefulSets, store.PodDisruptionBudgets, store.Pods)
	d.queue, d.staleQueue = sim.NewWorkQueue(d.Client, d.reconcile), sim.NewWorkQueue(d.Client, d.clearDisruptionTarget)
	d.Start()
}

// OnStop implements sim.Controller.
func (d *disruption) OnStop() {
	d.queue.Reset()
	d.staleQueue.Reset()
}

// OnChange implements sim.Controller.
func (d *disruption) OnChange(k store.Kind, old, current store.Object) {
	object := current
	if current == nil {
		object = old
	}
	affected := d.budgetIndex.Update(k, store.KeyOf(object), current)
	if k != store.Pods && k != store.PodDisruptionBudgets {
		affected = d.budgetIndex.Keys() // the expected pods may have changed
	}
	for _, key := range affected {
		d.queue.Add(key, recountDelay)
	}
	if p, ok := current.(*corev1.Pod); ok {
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
	for _, key := range d.budgetIndex.Keys() {
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
	result := d.ledger.StatusInputs(b, d.budgetIndex.Members(key), d.lookup).ComputeStatus()
	for _, e := range result.Events {
		var object store.Object = b
		if e.Pod != nil {
			object = d.Pod(e.Pod.Key())
		}
		if object != nil {
			_ = createEventOnce(d.w, object, "controllermanager", e.Reason, "", e.Note, e.Note)
		}
	}
	next := budgetstatus.FromResult(&b.Status, &result, d.w.Now())
	if equality.Semantic.DeepEqual(b.Status, next) {
		done(result.RequeueAfter, nil)
		return
	}
	d.Request(sim.RequestStatus, key, func() error {
		return d.w.API().Update(store.PodDisruptionBudgets, key, store.Precondition{UID: string(b.UID), ResourceVersion: b.ResourceVersion}, func(o store.Object) error {
			if pdb, ok := o.(*policyv1.PodDisruptionBudget); ok {
				pdb.Status = next
			}
			return nil
		})
	}, func(err error) { done(result.RequeueAfter, err) })
}

func (d *disruption) lookup(k store.Kind, key string) (store.Object, bool) {
	o, ok := d.Cached(k)[key]
	return o, ok
}
