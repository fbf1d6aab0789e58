package invariants

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// refundAudit stores what can prevent a refund.
type refundAudit struct {
	faults map[string]time.Time // last fault of a request that undoes a displacement, by the object
	killed time.Time            // last kill of an actor
}

// refundTimeout is how long a pod may have an entry without being displaced. It exceeds the attempts of an eviction.
const refundTimeout = 30 * time.Second

// noteFault records a fault, unless it can only make a displacement fail. A preemption has the key of its preemptor.
func (r *refundAudit) noteFault(n sim.Requested, now time.Time) {
	switch {
	case n.Fault == sim.NoFault || n.Kind == sim.RequestDisruptionTarget || n.Kind == sim.RequestEvent || n.Kind == sim.RequestDelete:
	case n.Kind == sim.RequestPreempt:
		r.killed = now
	default:
		r.faults[n.Object] = now
	}
}

// watchDebits checks each new entry of a budget after refundTimeout: DebitRefunded.
func (a *Checker) watchDebits(c store.Change) {
	old, _ := c.Old.(*policyv1.PodDisruptionBudget)
	b, ok := c.New.(*policyv1.PodDisruptionBudget)
	if !ok || old == nil || a.o.KeepDebits {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(b.Status.DisruptedPods)) {
		at := b.Status.DisruptedPods[name].Time
		if p := a.w.API().Pod(store.Key(b.Namespace, name)); p != nil && !old.Status.DisruptedPods[name].Time.Equal(at) {
			a.w.After(refundTimeout, func() { a.checkRefunded(store.KeyOf(b), p, at) })
		}
	}
}

// checkRefunded checks that the entry of a pod which is not displaced has been removed.
func (a *Checker) checkRefunded(budget string, debited *corev1.Pod, at time.Time) {
	key := store.KeyOf(debited)
	b, p := store.Get[*policyv1.PodDisruptionBudget](a.w.API(), budget), a.w.API().Pod(key)
	if b == nil || p == nil || p.UID != debited.UID || p.DeletionTimestamp != nil || store.Finished(p) || conversion.ActiveDisruptionTarget(p) != nil {
		return
	}
	entry, hasEntry := b.Status.DisruptedPods[p.Name]
	begin := at.Add(-refundTimeout) // of the displacement
	prevented := a.refunds.killed.After(begin) || a.refunds.faults[key].After(begin) || a.refunds.faults[budget].After(begin)
	if hasEntry && entry.Time.Equal(at) && !prevented {
		a.failf("DebitRefunded", "pod %s is not displaced, but budget %s has had an entry for it since %v", key, budget, refundTimeout)
	}
}
