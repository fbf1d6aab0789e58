package drain

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

// evictionRules decides evictions conservatively: all budgets of a pod must agree, and
// outdated statuses are recounted.
var evictionRules = budget.Evictions{Recount: true}

// budgetLedger holds what the budgets allow at the start of a round, less the round's
// evictions.
type budgetLedger struct {
	budgets map[string][]*model.Budget // by namespace; modified budgets are copies
	debits  map[string][]*model.Budget // the budgets to debit for each evictable pod, by UID
	ready   map[string]bool            // UIDs of the pods that were Ready; pods that become Ready later count in the next round
}

func newBudgetLedger(v *View) *budgetLedger {
	l := &budgetLedger{budgets: map[string][]*model.Budget{}, debits: map[string][]*model.Budget{}, ready: map[string]bool{}}
	for _, p := range v.All() {
		l.ready[p.UID] = p.Ready && !p.Deleting
	}
	for _, b := range v.State.AllBudgets() {
		l.budgets[b.Namespace] = append(l.budgets[b.Namespace], b)
	}
	return l
}

// check returns the block of the budgets of p, or nil.
func (l *budgetLedger) check(now time.Time, v *View, p *model.Pod) *Block {
	all := l.budgets[p.Namespace]
	if !slices.ContainsFunc(all, func(b *model.Budget) bool { return budget.Ledger.Covers(b, p) }) {
		return nil
	}
	readyPods := slices.DeleteFunc(v.InNamespace(p.Namespace), func(q *model.Pod) bool { return !l.ready[q.UID] })
	verdict := evictionRules.Check(p, all, readyPods, now)
	if verdict.Result == budget.Granted {
		l.debits[p.UID] = verdict.Debits
		return nil
	}
	return budgetBlock(now, v, p, &verdict)
}

// debit records the eviction of p in its budgets.
func (l *budgetLedger) debit(now time.Time, p *model.Pod) {
	all := slices.Clone(l.budgets[p.Namespace])
	for _, b := range l.debits[p.UID] {
		if i := slices.Index(all, b); i >= 0 {
			all[i] = budget.Debit(b, p, now)
		}
	}
	l.budgets[p.Namespace] = all
}

// budgetsCurrent reports whether the statuses of all relevant budgets are up to date. It ignores a
// budget that has been outdated for Timeouts.Budgets.
func (m *Machine) budgetsCurrent(now time.Time, v *View) (wake time.Time, ok bool) {
	for _, b := range v.State.AllBudgets() {
		key := b.Namespace + "/" + b.Name
		relevant := slices.ContainsFunc(m.moves, func(x *Move) bool { return x.stage == waiting && budget.Ledger.Covers(b, x.Pod) })
		if !relevant || !isStale(now, v, b) {
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

// isStale reports whether the status of a budget differs from its pods.
func isStale(now time.Time, v *View, b *model.Budget) bool {
	if b.ObservedGeneration < b.Generation {
		return true
	}
	return b.SyncError == "" && b.CurrentHealthy != countHealthy(now, v, b)
}

// countHealthy returns the number of healthy pods of a budget.
func countHealthy(now time.Time, v *View, b *model.Budget) (n int32) {
	for _, p := range v.InNamespace(b.Namespace) {
		if budget.Ledger.Covers(b, p) && p.Ready && !p.Deleting && !budget.HasRecentEntry(b, p, now) {
			n++
		}
	}
	return n
}
