package planning

import (
	"maps"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// EvictionRules describes the eviction API for planning: all budgets of a pod must allow the
// eviction, outdated statuses are recounted, and permanent refusals are distinguished from
// temporary ones.
var EvictionRules = budget.Evictions{Recount: true, ForbidImpossible: true}

// budgetLedger holds what the budgets allow, less the planned moves.
type budgetLedger struct {
	budgets map[string][]*model.Budget       // by namespace; lists are replaced, never modified
	pods    map[*model.Selector]*coveredPods // by a budget's selector, which its copies share
	state   *cluster.State
}

// coveredPods are the pods of a budget, found on demand.
type coveredPods struct {
	pods []*model.Pod
}

func newBudgetLedger(s *cluster.State) budgetLedger {
	b := budgetLedger{budgets: map[string][]*model.Budget{}, pods: map[*model.Selector]*coveredPods{}, state: s}
	for _, one := range s.AllBudgets() {
		b.budgets[one.Namespace] = append(b.budgets[one.Namespace], one)
	}
	return b
}

// clone returns a copy that later debits do not change.
func (b *budgetLedger) clone() budgetLedger {
	c := *b
	c.budgets = maps.Clone(b.budgets)
	return c
}

// check fills in the effects of a move on its budgets, or returns why they can never allow it.
func (b *budgetLedger) check(now time.Time, m *Move) (RefusalReason, string) {
	var over []*model.Budget
	for _, one := range b.budgets[m.Pod.Namespace] {
		if budget.Ledger.Covers(one, m.Pod) {
			over = append(over, one)
		}
	}
	if len(over) == 0 {
		return 0, ""
	}
	v := EvictionRules.Check(m.Pod, over, b.podsUnder(over), now)
	switch v.Result {
	case budget.Granted:
		for _, one := range v.Debits {
			m.Budgets = append(m.Budgets, BudgetEffect{one.Name, one.DisruptionsAllowed, one.DisruptionsAllowed - 1})
		}
	case budget.Refused:
		m.WaitReason = v.Reason
		for _, one := range over {
			m.Budgets = append(m.Budgets, BudgetEffect{one.Name, one.DisruptionsAllowed, one.DisruptionsAllowed})
		}
	default:
		return BudgetNeverAllows, v.Reason
	}
	return 0, ""
}

// debit records a move in its budgets unless it has to wait.
func (b *budgetLedger) debit(now time.Time, m *Move) {
	if m.WaitReason != "" || len(m.Budgets) == 0 {
		return
	}
	all := slices.Clone(b.budgets[m.Pod.Namespace])
	for i, one := range all {
		if slices.ContainsFunc(m.Budgets, func(e BudgetEffect) bool { return e.Budget == one.Name }) {
			all[i] = budget.Debit(one, m.Pod, now)
		}
	}
	b.budgets[m.Pod.Namespace] = all
}

// debitInProgress records a pod whose eviction is requested, or granted and not yet observed.
func (b *budgetLedger) debitInProgress(now time.Time, pod *model.Pod) {
	all := slices.Clone(b.budgets[pod.Namespace])
	for i, one := range all {
		if budget.Ledger.Covers(one, pod) && !budget.HasRecentEntry(one, pod, now) {
			all[i] = budget.Debit(one, pod, now)
		}
	}
	b.budgets[pod.Namespace] = all
}

// podsUnder returns the pods of budgets of one namespace.
func (b *budgetLedger) podsUnder(over []*model.Budget) []*model.Pod {
	var out []*model.Pod
	for i, one := range over {
		u := b.pods[one.Selector]
		if u == nil {
			u = &coveredPods{pods: b.findPods(one)}
			b.pods[one.Selector] = u
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

// findPods returns the pods of a budget.
func (b *budgetLedger) findPods(one *model.Budget) []*model.Pod {
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
