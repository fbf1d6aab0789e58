package plan

import (
	"maps"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// Evictions is how the eviction API is taken to answer: several budgets must all agree, a status that is behind
// is not relied on, and what can never be allowed is told from what cannot be now.
var Evictions = budget.Evictions{Recount: true, EndNever: true}

// books are what budgets allow, less what the plan has taken.
type books struct {
	budgets map[string][]*model.Budget // by namespace; the lists are replaced, never changed
	covered map[*model.Selector]*under // by a budget's selector, which its copies share
	state   *cluster.State
}

// under are the pods of a budget, once somebody asked for them.
type under struct {
	pods []*model.Pod
}

func openBooks(s *cluster.State) books {
	b := books{budgets: map[string][]*model.Budget{}, covered: map[*model.Selector]*under{}, state: s}
	for _, one := range s.AllBudgets() {
		b.budgets[one.Namespace] = append(b.budgets[one.Namespace], one)
	}
	return b
}

// save is a copy that later payments do not change.
func (b *books) save() books {
	c := *b
	c.budgets = maps.Clone(b.budgets)
	return c
}

// ask fills in what a move takes from budgets, or says why it can never be allowed.
func (b *books) ask(now time.Time, m *Move) (Why, string) {
	var over []*model.Budget
	for _, one := range b.budgets[m.Pod.Namespace] {
		if budget.Ledger.Covers(one, m.Pod) {
			over = append(over, one)
		}
	}
	if len(over) == 0 {
		return 0, ""
	}
	v := Evictions.Judge(m.Pod, over, b.under(over), now)
	switch v.Result {
	case budget.Granted:
		for _, one := range v.Pay {
			m.Budgets = append(m.Budgets, Effect{one.Name, one.DisruptionsAllowed, one.DisruptionsAllowed - 1})
		}
	case budget.Refused:
		m.Waits = v.Why
		for _, one := range over {
			m.Budgets = append(m.Budgets, Effect{one.Name, one.DisruptionsAllowed, one.DisruptionsAllowed})
		}
	default:
		return Budgeted, v.Why
	}
	return 0, ""
}

// pay takes what a move costs, if it does not wait.
func (b *books) pay(now time.Time, m *Move) {
	if m.Waits != "" || len(m.Budgets) == 0 {
		return
	}
	all := slices.Clone(b.budgets[m.Pod.Namespace])
	for i, one := range all {
		if slices.ContainsFunc(m.Budgets, func(e Effect) bool { return e.Budget == one.Name }) {
			all[i] = budget.Debited(one, m.Pod, now)
		}
	}
	b.budgets[m.Pod.Namespace] = all
}

// owe takes what a pod costs whose eviction is about to be asked for, or was granted and is not to be seen yet.
func (b *books) owe(now time.Time, pod *model.Pod) {
	all := slices.Clone(b.budgets[pod.Namespace])
	for i, one := range all {
		if budget.Ledger.Covers(one, pod) && !budget.EnteredLately(one, pod, now) {
			all[i] = budget.Debited(one, pod, now)
		}
	}
	b.budgets[pod.Namespace] = all
}

// under are the pods of some budgets of one namespace.
func (b *books) under(over []*model.Budget) []*model.Pod {
	var out []*model.Pod
	for i, one := range over {
		u := b.covered[one.Selector]
		if u == nil {
			u = &under{pods: b.scan(one)}
			b.covered[one.Selector] = u
		}
		if i == 0 {
			out = u.pods
			continue
		}
		seen := make(map[string]bool, len(out))
		for _, p := range out {
			seen[p.UID] = true
		}
		out = slices.Clip(out)
		for _, p := range u.pods {
			if !seen[p.UID] {
				out = append(out, p)
			}
		}
	}
	return out
}

// scan finds the pods of a budget on the cluster.
func (b *books) scan(one *model.Budget) []*model.Pod {
	var out []*model.Pod
	for _, id := range b.state.NodeIDs() {
		for _, p := range b.state.Node(id).Pods {
			if budget.Ledger.Covers(one, p) {
				out = append(out, p)
			}
		}
	}
	return out
}
