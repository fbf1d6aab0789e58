package budgets

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/berthproject/berth/controllers/disruption"
	"github.com/berthproject/berth/engine/decision"
	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/budgetstatus"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/fakeowners"
	"github.com/berthproject/berth/sim/reconciler"
	"github.com/berthproject/berth/sim/store"
)

// Ledger holds the stored budgets and the debits in their status. Create it with NewLedger.
type Ledger struct {
	*Index    // of the stored objects
	w         *sim.World
	workloads *disruption.Workloads // the stored ones
	affected  []string              // see Affected
}

// NewLedger returns the ledger of a world without objects.
func NewLedger(w *sim.World, owners *fakeowners.Replacer) *Ledger {
	factory := reconciler.NewAPIFactory(w, store.ReplicaSets, store.Deployments, store.StatefulSets, store.ReplicationControllers)
	l := &Ledger{Index: NewIndex(), w: w, workloads: disruption.NewWorkloads(factory, owners)}
	w.OnCommit(func(c store.Change) { l.affected = l.Update(c.Kind, store.KeyOf(c.Object()), c.New) })
	return l
}

// Affected returns the keys of the budgets that the last commit affected.
func (l *Ledger) Affected() []string { return l.affected }

// Debited is the notice that an actor is about to debit a budget.
type Debited struct {
	Budget *policyv1.PodDisruptionBudget // after the debit
	Names  []string                      // pods for which the budget has to allow a disruption
	Cached bool                          // the actor decided by its cache, otherwise by the store
}

// Overrule adds an entry for a pod to its budgets, regardless of what they allow, and returns the
// new entries.
func (l *Ledger) Overrule(p *corev1.Pod) ([]enginedisplacement.Entry, error) {
	var out []enginedisplacement.Entry
	for _, key := range l.BudgetsOf(p) {
		err := l.w.API().Update(store.PodDisruptionBudgets, key, store.Precondition{}, func(o store.Object) error {
			b, ok := o.(*policyv1.PodDisruptionBudget)
			if !ok {
				return store.ErrUnchanged
			}
			before := l.w.Converter().Budget(b)
			debit, _ := enginedisplacement.PlanDebit(before, decision.Debit{Overruled: []string{p.Name}}, []*model.Pod{l.w.Model(p)})
			if debit.IsEmpty() {
				return store.ErrUnchanged
			}
			budgetstatus.Debit(b, debit, l.w.Now())
			out = append(out, debit.Entries(before)[p.Name])
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}
