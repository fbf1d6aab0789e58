package drain

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

// evictionRules is how the eviction API answers, at its most careful: several budgets must all
// agree, and a status that is behind is not relied on.
var evictionRules = budget.Evictions{Recount: true}

// budgetLedger are what budgets allow when a round begins, less what the round has taken.
type budgetLedger struct {
	budgets map[string][]*model.Budget // by namespace; copies where something was taken
	debits  map[string][]*model.Budget // what each pod that may go takes from, by uid
	ready   map[string]bool            // the pods that were Ready, by uid: who gets Ready later counts in the next round
}

func newBudgetLedger(v *View) *budgetLedger {
	k := &budgetLedger{budgets: map[string][]*model.Budget{}, debits: map[string][]*model.Budget{}, ready: map[string]bool{}}
	for _, p := range v.All() {
		k.ready[p.UID] = p.Ready && !p.Deleting
	}
	for _, b := range v.State.AllBudgets() {
		k.budgets[b.Namespace] = append(k.budgets[b.Namespace], b)
	}
	return k
}

// check says which budget holds a pod; nil: none.
func (k *budgetLedger) check(now time.Time, v *View, p *model.Pod) *Block {
	all := k.budgets[p.Namespace]
	if !slices.ContainsFunc(all, func(b *model.Budget) bool { return budget.Ledger.Covers(b, p) }) {
		return nil
	}
	still := slices.DeleteFunc(v.InNamespace(p.Namespace), func(q *model.Pod) bool { return !k.ready[q.UID] })
	verdict := evictionRules.Check(p, all, still, now)
	if verdict.Result == budget.Granted {
		k.debits[p.UID] = verdict.Debits
		return nil
	}
	return budgetBlock(now, v, p, &verdict)
}

// debit takes what a pod costs.
func (k *budgetLedger) debit(now time.Time, p *model.Pod) {
	all := slices.Clone(k.budgets[p.Namespace])
	for _, b := range k.debits[p.UID] {
		if i := slices.Index(all, b); i >= 0 {
			all[i] = budget.Debit(b, p, now)
		}
	}
	k.budgets[p.Namespace] = all
}

// budgetsCurrent says whether the budgets over what is still to go have counted what can be
// counted. One that is behind for longer than Patience.Budgets is not waited for.
func (m *Machine) budgetsCurrent(now time.Time, v *View) (wake time.Time, ok bool) {
	for _, b := range v.State.AllBudgets() {
		key := b.Namespace + "/" + b.Name
		over := slices.ContainsFunc(m.moves, func(x *Move) bool { return x.stage == waiting && budget.Ledger.Covers(b, x.Pod) })
		if !over || !isStale(now, v, b) {
			delete(m.staleSince, key)
			continue
		}
		if m.staleSince[key].IsZero() {
			m.staleSince[key] = now
		}
		if at := m.staleSince[key].Add(m.timeouts.Budgets); now.Before(at) && (wake.IsZero() || at.Before(wake)) {
			wake = at
		}
	}
	return wake, wake.IsZero()
}

// isStale says that a budget's status is not what its pods are.
func isStale(now time.Time, v *View, b *model.Budget) bool {
	if b.ObservedGeneration < b.Generation {
		return true
	}
	return b.SyncError == "" && b.CurrentHealthy != countHealthy(now, v, b)
}

// countHealthy counts the healthy pods of a budget.
func countHealthy(now time.Time, v *View, b *model.Budget) (n int32) {
	for _, p := range v.InNamespace(b.Namespace) {
		if budget.Ledger.Covers(b, p) && p.Ready && !p.Deleting && !budget.HasRecentEntry(b, p, now) {
			n++
		}
	}
	return n
}
