package carry

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/rebalance/plan"
)

// books are what budgets allow in a turn: as they are seen, less what is about to be asked for, and what was and is not to be
// seen yet.
type books struct {
	v       *View
	spaces  map[string][]*model.Pod
	budgets map[string][]*model.Budget
}

// books opens the books of the turn.
func (t *turn) books() *books {
	if t.budgets != nil {
		return t.budgets
	}
	t.budgets = &books{v: t.v, spaces: map[string][]*model.Pod{}, budgets: map[string][]*model.Budget{}}
	for _, x := range t.m.moves {
		if x.Cleanup() || !x.underWay() || x.Stage > Leaving || x.Stage == Evicting && !x.asking {
			continue
		}
		if p := t.v.Pod(x.Pod.UID); p != nil && !p.Deleting {
			t.budgets.pay(t.now, p)
		}
	}
	return t.budgets
}

// of are the budgets of a namespace.
func (k *books) of(namespace string) []*model.Budget {
	list, known := k.budgets[namespace]
	if !known {
		list = k.v.State.Budgets(namespace)
		k.budgets[namespace] = list
	}
	return list
}

// in are the pods of a namespace, in no order: they are only counted.
func (k *books) in(namespace string) []*model.Pod {
	list, known := k.spaces[namespace]
	if !known {
		list = k.v.In(namespace)
		k.spaces[namespace] = list
	}
	return list
}

// ask says which budget holds a pod; empty: none.
func (k *books) ask(now time.Time, p *model.Pod) string {
	all := k.of(p.Namespace)
	if !slices.ContainsFunc(all, func(b *model.Budget) bool { return budget.Ledger.Covers(b, p) }) {
		return ""
	}
	if v := plan.Evictions.Judge(p, all, k.in(p.Namespace), now); v.Result != budget.Granted {
		return v.Why
	}
	return ""
}

// pay takes what a pod costs that is about to go.
func (k *books) pay(now time.Time, p *model.Pod) {
	all := slices.Clone(k.of(p.Namespace))
	for i, b := range all {
		if budget.Ledger.Covers(b, p) && !budget.EnteredLately(b, p, now) {
			all[i] = budget.Debited(b, p, now)
		}
	}
	k.budgets[p.Namespace] = all
}
