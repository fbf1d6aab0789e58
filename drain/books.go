package drain

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

// evictions is how the eviction API answers, at its most careful: several budgets must all
// agree, and a status that is behind is not relied on.
var evictions = budget.Evictions{Recount: true}

// books are what budgets allow when a round begins, less what the round has taken.
type books struct {
	budgets map[string][]*model.Budget // by namespace; copies where something was taken
	pays    map[string][]*model.Budget // what each pod that may go takes from, by uid
	stood   map[string]bool            // the pods that were Ready, by uid: who gets Ready later counts in the next round
}

func openBooks(v *View) *books {
	k := &books{budgets: map[string][]*model.Budget{}, pays: map[string][]*model.Budget{}, stood: map[string]bool{}}
	for _, p := range v.All() {
		k.stood[p.UID] = p.Ready && !p.Deleting
	}
	for _, b := range v.State.AllBudgets() {
		k.budgets[b.Namespace] = append(k.budgets[b.Namespace], b)
	}
	return k
}

// ask says which budget holds a pod; nil: none.
func (k *books) ask(now time.Time, v *View, p *model.Pod) *Block {
	all := k.budgets[p.Namespace]
	if !slices.ContainsFunc(all, func(b *model.Budget) bool { return budget.Ledger.Covers(b, p) }) {
		return nil
	}
	still := slices.DeleteFunc(v.In(p.Namespace), func(q *model.Pod) bool { return !k.stood[q.UID] })
	verdict := evictions.Judge(p, all, still, now)
	if verdict.Result == budget.Granted {
		k.pays[p.UID] = verdict.Pay
		return nil
	}
	return byBudget(now, v, p, &verdict)
}

// pay takes what a pod costs.
func (k *books) pay(now time.Time, p *model.Pod) {
	all := slices.Clone(k.budgets[p.Namespace])
	for _, b := range k.pays[p.UID] {
		if i := slices.Index(all, b); i >= 0 {
			all[i] = budget.Debited(b, p, now)
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
		if !over || !behind(now, v, b) {
			delete(m.late, key)
			continue
		}
		if m.late[key].IsZero() {
			m.late[key] = now
		}
		if at := m.late[key].Add(m.patience.Budgets); now.Before(at) && (wake.IsZero() || at.Before(wake)) {
			wake = at
		}
	}
	return wake, wake.IsZero()
}

// behind says that a budget's status is not what its pods are.
func behind(now time.Time, v *View, b *model.Budget) bool {
	if b.ObservedGeneration < b.Generation {
		return true
	}
	return b.SyncFailed == "" && b.CurrentHealthy != standing(now, v, b)
}

// standing counts the healthy pods of a budget.
func standing(now time.Time, v *View, b *model.Budget) (n int32) {
	for _, p := range v.In(b.Namespace) {
		if budget.Ledger.Covers(b, p) && p.Ready && !p.Deleting && !budget.EnteredLately(b, p, now) {
			n++
		}
	}
	return n
}
