package budgets

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/fakeowners"
	"github.com/berthproject/berth/sim/store"
)

// Ledger holds the stored budgets and the debits in their status. Create it with NewLedger.
type Ledger struct {
	*Index   // of the stored objects
	w        *sim.World
	owners   *fakeowners.Replacer
	affected []string
}

// NewLedger returns the ledger of a world without objects.
func NewLedger(w *sim.World, owners *fakeowners.Replacer) *Ledger {
	l := &Ledger{Index: NewIndex(), w: w, owners: owners}
	w.OnCommit(func(c store.Change) { l.affected = l.Update(c.Kind, store.KeyOf(c.Object()), c.New) })
	return l
}

// Affected returns the budgets that the last commit affected.
func (l *Ledger) Affected() []string { return l.affected }

// Debit is a debit of one budget.
type Debit struct {
	Budget  *model.Budget
	Names   []string // pods with a new entry
	Debited int32    // disruptions debited, for the first names
}

// Debited is the notice that an actor is about to debit a budget.
type Debited struct {
	Budget *policyv1.PodDisruptionBudget // after the debit
	Names  []string                      // pods for which the budget has to allow a disruption
	Cached bool                          // the actor decided by its cache, otherwise by the store
}

// AddEntries replaces the entries of a budget by a copy with entries for pods.
func AddEntries(b *policyv1.PodDisruptionBudget, now time.Time, pods ...string) {
	entries := maps.Clone(b.Status.DisruptedPods)
	if entries == nil {
		entries = map[string]metav1.Time{}
	}
	for _, name := range pods {
		entries[name] = metav1.NewTime(now)
	}
	b.Status.DisruptedPods = entries
}

// UpdateBudget updates a stored budget. A budget that no longer exists is a success.
func (l *Ledger) UpdateBudget(b *model.Budget, f func(*policyv1.PodDisruptionBudget) error) error {
	err := l.w.API().Update(store.PodDisruptionBudgets, store.Key(b.Namespace, b.Name), store.Precondition{UID: b.UID}, func(o store.Object) error {
		pdb, ok := o.(*policyv1.PodDisruptionBudget)
		if !ok {
			return store.ErrUnchanged
		}
		return f(pdb)
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Refund refunds debits.
func (l *Ledger) Refund(list []Debit) {
	for _, d := range list {
		_ = l.UpdateBudget(d.Budget, func(b *policyv1.PodDisruptionBudget) error {
			entries := maps.Clone(b.Status.DisruptedPods)
			refunded := int32(0)
			for i, name := range d.Names {
				if _, exists := entries[name]; exists && int32(i) < d.Debited {
					refunded++
				}
				delete(entries, name)
			}
			b.Status.DisruptedPods = entries
			b.Status.DisruptionsAllowed += refunded
			return nil
		})
	}
}

// Overrule adds an entry for a pod to its budgets, regardless of what they allow, and returns the
// new entries.
func (l *Ledger) Overrule(p *corev1.Pod) (out []enginedisplacement.Entry, err error) {
	for _, key := range l.BudgetsOf(p) {
		err := l.w.API().Update(store.PodDisruptionBudgets, key, store.Precondition{}, func(o store.Object) error {
			b, ok := o.(*policyv1.PodDisruptionBudget)
			if _, exists := b.Status.DisruptedPods[p.Name]; !ok || exists {
				return store.ErrUnchanged
			}
			entry := enginedisplacement.Entry{Budget: b.Name, Before: b.Status.DisruptionsAllowed, After: b.Status.DisruptionsAllowed, Overruled: b.Status.DisruptionsAllowed <= 0}
			AddEntries(b, l.w.Now(), p.Name)
			if !entry.Overruled {
				b.Status.DisruptionsAllowed--
				entry.After--
			}
			out = append(out, entry)
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}
