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
	l := budgetLedger{budgets: map[string][]*model.Budget{}, pods: map[*model.Selector]*coveredPods{}, state: s}
	for _, pdb := range s.AllBudgets() {
		l.budgets[pdb.Namespace] = append(l.budgets[pdb.Namespace], pdb)
	}
	return l
}

// clone returns a copy that later debits do not change.
func (l *budgetLedger) clone() budgetLedger {
	c := *l
	c.budgets = maps.Clone(l.budgets)
	return c
}

// check fills in the effects of a move on its budgets, or returns why they will never allow it.
func (l *budgetLedger) check(now time.Time, m *Move) (RefusalReason, string) {
	var covering []*model.Budget
	for _, pdb := range l.budgets[m.Pod.Namespace] {
		if budget.Ledger.Covers(pdb, m.Pod) {
			covering = append(covering, pdb)
		}
	}
	if len(covering) == 0 {
		return 0, ""
	}
	v := EvictionRules.Check(m.Pod, covering, l.podsUnder(covering), now)
	switch v.Result {
	case budget.Granted:
		for _, pdb := range v.Debits {
			m.Budgets = append(m.Budgets, BudgetEffect{pdb.Name, pdb.DisruptionsAllowed, pdb.DisruptionsAllowed - 1})
		}
	case budget.Refused:
		m.WaitReason = v.Reason
		for _, pdb := range covering {
			m.Budgets = append(m.Budgets, BudgetEffect{pdb.Name, pdb.DisruptionsAllowed, pdb.DisruptionsAllowed})
		}
	default:
		return BudgetNeverAllows, v.Reason
	}
	return 0, ""
}

// debit records a move in its budgets unless it has to wait.
func (l *budgetLedger) debit(now time.Time, m *Move) {
	if m.WaitReason != "" || len(m.Budgets) == 0 {
		return
	}
	all := slices.Clone(l.budgets[m.Pod.Namespace])
	for i, pdb := range all {
		if slices.ContainsFunc(m.Budgets, func(e BudgetEffect) bool { return e.Budget == pdb.Name }) {
			all[i] = budget.Debit(pdb, m.Pod, now)
		}
	}
	l.budgets[m.Pod.Namespace] = all
}

// debitInProgress records a pod whose eviction is requested, or granted and not yet observed.
func (l *budgetLedger) debitInProgress(now time.Time, pod *model.Pod) {
	all := slices.Clone(l.budgets[pod.Namespace])
	for i, pdb := range all {
		if budget.Ledger.Covers(pdb, pod) && !budget.HasRecentEntry(pdb, pod, now) {
			all[i] = budget.Debit(pdb, pod, now)
		}
	}
	l.budgets[pod.Namespace] = all
}

// podsUnder returns the pods of budgets of one namespace.
func (l *budgetLedger) podsUnder(budgets []*model.Budget) []*model.Pod {
	var out []*model.Pod
	for i, pdb := range budgets {
		covered := l.pods[pdb.Selector]
		if covered == nil {
			covered = &coveredPods{pods: l.findPods(pdb)}
			l.pods[pdb.Selector] = covered
		}
		if i == 0 {
			out = covered.pods
			continue
		}
		seen := make(map[string]bool, len(out))
		for _, p := range out {
			seen[p.UID] = true
		}
		out = slices.Clip(out)
		for _, p := range covered.pods {
			if !seen[p.UID] {
				out = append(out, p)
			}
		}
	}
	return out
}

func (l *budgetLedger) findPods(pdb *model.Budget) []*model.Pod {
	var out []*model.Pod
	for _, id := range l.state.NodeIDs() {
		for _, p := range l.state.Node(id).Pods {
			if budget.Ledger.Covers(pdb, p) {
				out = append(out, p)
			}
		}
	}
	return out
}
