package planning

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/budget/ledger"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// newLedger returns a ledger of the budgets of s, which must not change.
func newLedger(s *cluster.State) *ledger.Ledger {
	covered := coveredPods{state: s, pods: map[*model.Selector][]*model.Pod{}}
	return ledger.New(ledger.Rules, s.Budgets, covered.under)
}

// checkBudgets fills in the effects of a move on its budgets, or returns why they will never allow it.
func (p *Planner) checkBudgets(m *Move) (RefusalReason, string) {
	switch v := p.ledger.Check(p.o.Now, m.Pod); v.Result {
	case budget.Granted:
		for _, b := range v.Debits {
			m.Budgets = append(m.Budgets, BudgetEffect{b.Name, b.DisruptionsAllowed, b.DisruptionsAllowed - 1})
		}
	case budget.Refused:
		m.WaitReason = v.Reason
		for _, b := range p.ledger.Covering(m.Pod) {
			m.Budgets = append(m.Budgets, BudgetEffect{b.Name, b.DisruptionsAllowed, b.DisruptionsAllowed})
		}
	default:
		return BudgetNeverAllows, v.Reason
	}
	return 0, ""
}

// debit records a move in its budgets unless it has to wait.
func (p *Planner) debit(now time.Time, m *Move) {
	if m.WaitReason != "" {
		return
	}
	var names []string
	for _, e := range m.Budgets {
		names = append(names, e.Budget)
	}
	p.ledger.Debit(now, m.Pod, names)
}

// coveredPods finds the scheduled pods of budgets once per selector, which debited copies of a budget share.
type coveredPods struct {
	state *cluster.State
	pods  map[*model.Selector][]*model.Pod
}

// under returns the pods of budgets of one namespace.
func (c *coveredPods) under(budgets []*model.Budget) (out []*model.Pod) {
	for i, b := range budgets {
		pods, ok := c.pods[b.Selector]
		if !ok {
			pods = c.find(b)
			c.pods[b.Selector] = pods
		}
		if i == 0 {
			out = slices.Clip(pods)
			continue
		}
		seen := make(map[string]bool, len(out))
		for _, p := range out {
			seen[p.UID] = true
		}
		for _, p := range pods {
			if !seen[p.UID] {
				out = append(out, p)
			}
		}
	}
	return out
}

func (c *coveredPods) find(b *model.Budget) (out []*model.Pod) {
	for _, id := range c.state.NodeIDs() {
		for _, p := range c.state.Node(id).Pods {
			if budget.Ledger.Covers(b, p) {
				out = append(out, p)
			}
		}
	}
	return out
}
