package execution

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

// budgetLedger holds what the budgets allow in one Step: their observed state, less evictions
// that are requested or granted and not yet observed.
type budgetLedger struct {
	v       *View
	pods    map[string][]*model.Pod
	budgets map[string][]*model.Budget
}

// openLedger returns the ledger, which it creates once per Step.
func (t *step) openLedger() *budgetLedger {
	if t.ledger != nil {
		return t.ledger
	}
	t.ledger = &budgetLedger{v: t.v, pods: map[string][]*model.Pod{}, budgets: map[string][]*model.Budget{}}
	for _, x := range t.m.moves {
		if x.Cleanup() || !x.inProgress() || x.Stage > Terminating || x.Stage == Evicting && !x.evictionPending {
			continue
		}
		if p := t.v.Pod(x.Pod.UID); p != nil && !p.Deleting {
			t.ledger.debit(t.now, p)
		}
	}
	return t.ledger
}

func (l *budgetLedger) budgetsIn(namespace string) []*model.Budget {
	list, ok := l.budgets[namespace]
	if !ok {
		list = l.v.State.Budgets(namespace)
		l.budgets[namespace] = list
	}
	return list
}

// podsIn returns the pods of a namespace in no particular order.
func (l *budgetLedger) podsIn(namespace string) []*model.Pod {
	list, ok := l.pods[namespace]
	if !ok {
		list = l.v.InNamespace(namespace)
		l.pods[namespace] = list
	}
	return list
}

// check returns why a budget refuses the eviction of a pod, or "".
func (l *budgetLedger) check(now time.Time, p *model.Pod) string {
	all := l.budgetsIn(p.Namespace)
	if !slices.ContainsFunc(all, func(b *model.Budget) bool { return budget.Ledger.Covers(b, p) }) {
		return ""
	}
	if v := planning.EvictionRules.Check(p, all, l.podsIn(p.Namespace), now); v.Result != budget.Granted {
		return v.Reason
	}
	return ""
}

// debit records the eviction of a pod in its budgets.
func (l *budgetLedger) debit(now time.Time, p *model.Pod) {
	all := slices.Clone(l.budgetsIn(p.Namespace))
	for i, b := range all {
		if budget.Ledger.Covers(b, p) && !budget.HasRecentEntry(b, p, now) {
			all[i] = budget.Debit(b, p, now)
		}
	}
	l.budgets[p.Namespace] = all
}
