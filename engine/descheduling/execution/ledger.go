package execution

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

// budgetLedger are what budgets allow in a turn: as they are seen, less what is about to be asked for, and what was and is not to be
// seen yet.
type budgetLedger struct {
	v       *View
	pods    map[string][]*model.Pod
	budgets map[string][]*model.Budget
}

// openLedger opens the books of the turn.
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

// budgetsIn are the budgets of a namespace.
func (k *budgetLedger) budgetsIn(namespace string) []*model.Budget {
	list, known := k.budgets[namespace]
	if !known {
		list = k.v.State.Budgets(namespace)
		k.budgets[namespace] = list
	}
	return list
}

// podsIn are the pods of a namespace, in no order: they are only counted.
func (k *budgetLedger) podsIn(namespace string) []*model.Pod {
	list, known := k.pods[namespace]
	if !known {
		list = k.v.InNamespace(namespace)
		k.pods[namespace] = list
	}
	return list
}

// check says which budget holds a pod; empty: none.
func (k *budgetLedger) check(now time.Time, p *model.Pod) string {
	all := k.budgetsIn(p.Namespace)
	if !slices.ContainsFunc(all, func(b *model.Budget) bool { return budget.Ledger.Covers(b, p) }) {
		return ""
	}
	if v := planning.EvictionRules.Check(p, all, k.podsIn(p.Namespace), now); v.Result != budget.Granted {
		return v.Reason
	}
	return ""
}

// debit takes what a pod costs that is about to go.
func (k *budgetLedger) debit(now time.Time, p *model.Pod) {
	all := slices.Clone(k.budgetsIn(p.Namespace))
	for i, b := range all {
		if budget.Ledger.Covers(b, p) && !budget.HasRecentEntry(b, p, now) {
			all[i] = budget.Debit(b, p, now)
		}
	}
	k.budgets[p.Namespace] = all
}
