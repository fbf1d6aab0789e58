package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/decision"
	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim/store"
)

// preemptWrites returns the writes of a preemption: nomination, one debit per budget, then
// condition, event and deletion of each victim. All are idempotent.
func preemptWrites(e scheduling.Preempt) []write {
	writes := []write{writeStep(func(r *request) error { return r.nominate(e.Plan.Node) })}
	for i := range e.Plan.Debits {
		writes = append(writes, func(r *request) bool {
			err := r.debit(&e.Plan.Debits[i], enginedisplacement.Preemption.Policy().Overrules(e.Choice))
			if err == nil {
				return true
			}
			r.refund()
			r.setError(err)
			return false
		})
	}
	for _, v := range e.Plan.Victims {
		writes = append(writes, writeStep(func(r *request) error { return r.setDisruptionTarget(v) }))
	}
	for _, v := range e.Plan.Victims {
		writes = append(writes, writeStep(func(r *request) error { return r.createVictimEvent(v) }))
	}
	for _, v := range e.Plan.Victims {
		writes = append(writes, writeStep(func(r *request) error { return r.deleteVictim(e, v) }))
	}
	return writes
}

// nominate sets the nominated node; "" clears it.
func (r *request) nominate(node string) error {
	return r.s.w.API().UpdatePod(r.pod.Key(), r.precondition(), func(p *corev1.Pod) error {
		if p.Status.NominatedNodeName == node {
			return store.ErrUnchanged
		}
		p.Status.NominatedNodeName = node
		if node == "" {
			r.s.w.Log("scheduler", "unnominate", r.pod.Key(), r.pod.Key()+" is no longer nominated")
		}
		return nil
	})
}

// debit debits the victims of a decision from a budget. Excess is refused, or recorded anyway
// if overrules is set.
func (r *request) debit(d *decision.Debit, overrules bool) error {
	w := r.s.w
	return w.updateBudget(d.Budget, func(b *policyv1.PodDisruptionBudget) error {
		entries := maps.Clone(b.Status.DisruptedPods)
		if entries == nil {
			entries = map[string]metav1.Time{}
		}
		now := metav1.NewTime(w.Now())
		var due []string
		for _, name := range d.Granted {
			if _, paid := entries[name]; !paid {
				due = append(due, name)
			}
		}
		allowed := int(b.Status.DisruptionsAllowed)
		if b.Status.ObservedGeneration < b.Generation {
			allowed = 0
		}
		if len(due) > allowed && !overrules {
			r.budgets = append(r.budgets, b)
			return apierrors.NewTooManyRequests(fmt.Sprintf("budget %s/%s allows %d disruptions, and %d are requested", b.Namespace, b.Name, allowed, len(due)), 0)
		}
		t := budgetDebit{budget: d.Budget}
		for _, name := range slices.Concat(due, d.Overruled) {
			if _, paid := entries[name]; !paid {
				entries[name] = now
				t.names = append(t.names, name)
			}
		}
		if len(entries) == len(b.Status.DisruptedPods) {
			return store.ErrUnchanged
		}
		t.paid = int32(min(len(t.names), allowed)) // an overruling debit takes what is left
		r.taken = append(r.taken, t)
		b.Status.DisruptionsAllowed -= t.paid
		b.Status.DisruptedPods = entries
		w.audit.checkDebit(b, due[:min(len(due), allowed)], w.audit.staleness())
		return nil
	})
}

// refund refunds the debits before the refusing budget.
func (r *request) refund() {
	r.s.w.refund(r.taken)
	for _, t := range r.taken {
		if o, ok := r.s.w.API().Get(store.PodDisruptionBudgets, store.Key(t.budget.Namespace, t.budget.Name)); ok {
			if b, ok := o.(*policyv1.PodDisruptionBudget); ok {
				r.budgets = append(r.budgets, b)
			}
		}
	}
	r.taken = nil
}

// refund refunds budget debits.
func (w *Cluster) refund(list []budgetDebit) {
	for _, t := range list {
		_ = w.updateBudget(t.budget, func(b *policyv1.PodDisruptionBudget) error {
			entries := maps.Clone(b.Status.DisruptedPods)
			given := int32(0)
			for i, name := range t.names {
				if _, there := entries[name]; there && int32(i) < t.paid {
					given++
				}
				delete(entries, name)
			}
			b.Status.DisruptedPods = entries
			b.Status.DisruptionsAllowed += given
			return nil
		})
	}
}

// budgetDebit is a debit of one budget.
type budgetDebit struct {
	budget *model.Budget
	names  []string
	paid   int32
}

func (w *Cluster) updateBudget(b *model.Budget, f func(*policyv1.PodDisruptionBudget) error) error {
	err := w.API().Update(store.PodDisruptionBudgets, store.Key(b.Namespace, b.Name), store.Precondition{UID: b.UID}, func(o store.Object) error {
		pdb, ok := o.(*policyv1.PodDisruptionBudget)
		if !ok {
			return store.ErrUnchanged
		}
		return f(pdb)
	})
	if apierrors.IsNotFound(err) {
		return nil // the budget no longer exists
	}
	return err
}

// victimRecord returns the displacement record of a victim.
func (r *request) victimRecord(v *model.Pod) enginedisplacement.Record {
	return enginedisplacement.Record{Cause: enginedisplacement.Preemption, Preemptor: r.pod, Victim: v, Node: v.NodeName, Entries: r.entries[v.Name]}
}

// createVictimEvent creates the event of a victim.
func (r *request) createVictimEvent(v *model.Pod) error {
	record := r.victimRecord(v)
	return r.s.w.createRecordEvent(&record, r.pod.Spec.SchedulerName)
}

// setDisruptionTarget sets the DisruptionTarget condition of a victim.
func (r *request) setDisruptionTarget(v *model.Pod) error {
	record := r.victimRecord(v)
	err := r.s.w.API().UpdatePod(v.Key(), store.Precondition{UID: v.UID}, func(p *corev1.Pod) error {
		p.Status.Conditions = store.WithCondition(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: record.Cause.Reason(), Message: record.Message(), LastTransitionTime: metav1.NewTime(r.s.w.Now())})
		return nil
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is gone
	}
	return err
}

// deleteVictim deletes a victim with its grace period.
func (r *request) deleteVictim(e scheduling.Preempt, v *model.Pod) error {
	w := r.s.w
	old := w.API().Pod(v.Key())
	if old == nil || string(old.UID) != v.UID || old.DeletionTimestamp != nil {
		return nil // gone or terminating
	}
	w.audit.checkPreemption(r.pod, old, e)
	if err := w.API().DeletePod(v.Key(), store.Precondition{UID: v.UID}, nil); err != nil {
		return err
	}
	w.countPreemption(r.pod, old)
	w.Log("scheduler", "preempt", v.Key(), fmt.Sprintf("%s on %s is preempted by %s", v.Key(), v.NodeName, r.pod.Key()))
	return nil
}

// victimNames returns the keys of the victims.
func victimNames(p *decision.Preemption) string {
	var names []string
	for _, v := range p.Victims {
		names = append(names, v.Key())
	}
	return strings.Join(names, " ")
}
