package scheduler

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	helper "k8s.io/component-helpers/resource"

	"github.com/berthproject/berth/engine/decision"
	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/budgetstatus"
	"github.com/berthproject/berth/sim/budgets"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/store"
)

// preemptWrites returns the writes of a preemption: nomination, unless it is for a resize, one debit per budget, then
// condition, event and deletion of each victim. All are idempotent.
func preemptWrites(e scheduling.Preempt) []write {
	begin := func(r *request) error { return r.nominate(e.Plan.Node) }
	if e.Resize {
		begin = (*request).requireDeferredResize
	}
	writes := []write{writeStep(begin)}
	for i := range e.Plan.Debits {
		writes = append(writes, func(r *request) bool {
			err := r.debit(&e.Plan.Debits[i], e.Plan.Victims, enginedisplacement.Preemption.Policy().Overrules(e.Choice))
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

// requireDeferredResize returns an error if the resize was withdrawn or admitted meanwhile.
func (r *request) requireDeferredResize() error {
	p := r.s.w.API().Pod(r.pod.Key())
	if p == nil || string(p.UID) != r.pod.UID || !helper.IsPodResizeDeferred(p) {
		return apierrors.NewConflict(corev1.Resource("pods"), r.pod.Name, errors.New("the resize is no longer deferred"))
	}
	return nil
}

// nominate sets the nominated node; "" clears it.
func (r *request) nominate(node string) error {
	return r.s.w.API().UpdatePod(r.pod.Key(), r.precondition(), func(p *corev1.Pod) error {
		if p.Status.NominatedNodeName == node {
			return store.ErrUnchanged
		}
		p.Status.NominatedNodeName = node
		if node == "" {
			r.s.w.Log("scheduler", "clearnomination", r.pod.Key(), r.pod.Key()+" is no longer nominated")
		}
		return nil
	})
}

// debit debits the victims of a decision from a budget. Excess is refused, or recorded anyway
// if overrules is set.
func (r *request) debit(d *decision.Debit, victims []*model.Pod, overrules bool) error {
	w := r.s.w
	return r.s.ledger.UpdateBudget(d.Budget, func(b *policyv1.PodDisruptionBudget) error {
		before := w.Converter().Budget(b)
		debit, required := enginedisplacement.PlanDebit(before, *d, victims)
		if allowed := int(enginedisplacement.Allowed(before)); required > allowed && !overrules {
			r.budgets = append(r.budgets, b)
			return apierrors.NewTooManyRequests(fmt.Sprintf("budget %s/%s allows %d disruptions, and %d are requested", b.Namespace, b.Name, allowed, required), 0)
		}
		if debit.IsEmpty() {
			return store.ErrUnchanged
		}
		budgetstatus.Debit(b, debit, w.Now())
		for name, entry := range debit.Entries(before) {
			key := b.Namespace + "/" + name
			r.entries[key] = append(r.entries[key], entry)
		}
		r.debits = append(r.debits, budgets.Debit{Debit: debit, Budget: d.Budget})
		w.Notify(budgets.Debited{Budget: b, Names: debit.Granted[:min(required, len(debit.Granted))], Cached: true})
		return nil
	})
}

// refund takes back the debits that precede the refused one, and adds their budgets to those in the outcome.
func (r *request) refund() {
	r.s.ledger.Refund(r.debits)
	for _, t := range r.debits {
		if o, ok := r.s.w.API().Get(store.PodDisruptionBudgets, store.Key(t.Budget.Namespace, t.Budget.Name)); ok {
			if b, ok := o.(*policyv1.PodDisruptionBudget); ok {
				r.budgets = append(r.budgets, b)
			}
		}
	}
	r.debits = nil
}

// victimRecord returns the displacement record of a victim.
func (r *request) victimRecord(v *model.Pod) enginedisplacement.Record {
	return enginedisplacement.Record{Cause: enginedisplacement.Preemption, Preemptor: r.pod, Victim: v, Node: v.NodeName, Entries: r.entries[v.Key()]}
}

// createVictimEvent creates the event of a victim.
func (r *request) createVictimEvent(v *model.Pod) error {
	record := r.victimRecord(v)
	return displacement.CreateRecordEvent(r.s.w, &record, r.pod.Spec.SchedulerName)
}

// setDisruptionTarget sets the DisruptionTarget condition of a victim.
func (r *request) setDisruptionTarget(v *model.Pod) error {
	record := r.victimRecord(v)
	err := r.s.w.API().UpdatePod(v.Key(), store.Precondition{UID: v.UID}, func(p *corev1.Pod) error {
		p.Status.Conditions = store.WithCondition(p.Status.Conditions, displacement.TargetCondition(&record, r.s.w.Now()))
		return nil
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the victim was deleted
	}
	return err
}

// deleteVictim deletes a victim with its grace period.
func (r *request) deleteVictim(e scheduling.Preempt, v *model.Pod) error {
	w := r.s.w
	old := w.API().Pod(v.Key())
	if old == nil || string(old.UID) != v.UID || old.DeletionTimestamp != nil {
		return nil // deleted or terminating
	}
	w.Notify(Preempting{r.pod, old, e.Choice})
	if err := w.API().DeletePod(v.Key(), store.Precondition{UID: v.UID}, nil); err != nil {
		return err
	}
	w.Notify(Preempted{r.pod, old})
	w.Log("scheduler", "preempt", v.Key(), fmt.Sprintf("%s on %s is preempted by %s", v.Key(), v.NodeName, r.pod.Key()))
	return nil
}
