package scheduler

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/sim/budgets"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/store"
)

// preemptionStore is the in-memory API as a preemption uses it.
type preemptionStore struct {
	displacement.Store
	r *request
	e scheduling.Preempt
}

var _ displacer.Store = &preemptionStore{}

func newPreemptionStore(r *request, e scheduling.Preempt) *preemptionStore {
	s := &preemptionStore{r: r, e: e}
	s.Store = displacement.Store{World: r.s.w, Execute: r.execute, OnUpdateBudget: s.notifyDebit}
	return s
}

// notifyDebit sends the notice of a debit, with the victims for which the budget has to allow a disruption.
func (s *preemptionStore) notifyDebit(before *policyv1.PodDisruptionBudgetStatus, b *policyv1.PodDisruptionBudget) {
	isNew := func(name string) bool {
		at, hasEntry := b.Status.DisruptedPods[name]
		old, hadEntry := before.DisruptedPods[name]
		return hasEntry && (!hadEntry || !old.Time.Equal(at.Time))
	}
	debits := false
	for name := range b.Status.DisruptedPods {
		debits = debits || isNew(name)
	}
	if !debits {
		return // a refund
	}
	var names []string
	for i := range s.e.Plan.Debits {
		d := &s.e.Plan.Debits[i]
		for _, name := range d.Granted {
			if d.Budget.Namespace == b.Namespace && d.Budget.Name == b.Name && isNew(name) {
				names = append(names, name)
			}
		}
	}
	taken := int(before.DisruptionsAllowed - b.Status.DisruptionsAllowed)
	s.World.Notify(budgets.Debited{Budget: b, Names: names[:min(len(names), taken)], Cached: true})
}

// SetCondition implements displacer.Store. It replaces a condition of another cause, as a client does.
func (s *preemptionStore) SetCondition(_ context.Context, w displacer.ConditionWrite) (displacer.ConditionResult, error) {
	err := s.UpdateConditions(store.Precondition{UID: w.Pod.UID, ResourceVersion: w.Version}, w.Pod.Key(), func(p *corev1.Pod) {
		p.Status.Conditions = store.WithCondition(p.Status.Conditions, *w.Condition)
	})
	return displacer.ConditionResult{Pod: s.World.API().Pod(w.Pod.Key()), Set: true}, err
}

// Record implements displacer.Store.
func (s *preemptionStore) Record(_ context.Context, r *enginedisplacement.Record) error {
	return s.Execute(func() error { return displacement.CreateRecordEvent(s.World, r, s.e.Pod.Spec.SchedulerName) })
}

// Delete implements displacer.Store.
func (s *preemptionStore) Delete(_ context.Context, victim *model.Pod, o metav1.DeleteOptions) error {
	return s.Execute(func() error {
		key, required := victim.Key(), store.Precondition{UID: victim.UID}
		old := s.World.API().Pod(key)
		if old == nil {
			return apierrors.NewNotFound(corev1.Resource("pods"), victim.Name)
		}
		notify := string(old.UID) == victim.UID && old.DeletionTimestamp == nil
		if notify {
			s.World.Notify(Preempting{s.e.Pod, old, s.e.Choice})
		}
		if err := s.World.API().DeletePod(key, required, o.GracePeriodSeconds); err != nil || !notify {
			return err
		}
		s.World.Notify(Preempted{s.e.Pod, old})
		s.World.Log("scheduler", "preempt", key, fmt.Sprintf("%s on %s is preempted by %s", key, old.Spec.NodeName, s.e.Pod.Key()))
		return nil
	})
}
