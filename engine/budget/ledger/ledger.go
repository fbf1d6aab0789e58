package ledger

import (
	"maps"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

// Rules are the rules of Berth's own evictions. All budgets of a pod must allow the eviction. A recount of the healthy
// pods replaces a status that allows more, and permanent refusals are distinguished from temporary ones.
var Rules = budget.Evictions{Recount: true, ForbidImpossible: true}

// Ledger holds budgets and debits them. Create it with New.
type Ledger struct {
	rules     budget.Evictions
	budgetsIn func(namespace string) []*model.Budget
	podsUnder func(budgets []*model.Budget) []*model.Pod
	debited   map[string][]*model.Budget // by namespace; lists are replaced, never modified
}

// New returns a ledger of the budgets that budgetsIn returns. podsUnder returns at least the pods that the budgets,
// which are of one namespace, cover; it may be nil if the rules do not recount.
func New(rules budget.Evictions, budgetsIn func(namespace string) []*model.Budget, podsUnder func(budgets []*model.Budget) []*model.Pod) *Ledger {
	return &Ledger{rules: rules, budgetsIn: budgetsIn, podsUnder: podsUnder, debited: map[string][]*model.Budget{}}
}

// Clone returns a copy that later debits do not change.
func (l *Ledger) Clone() *Ledger {
	c := *l
	c.debited = maps.Clone(l.debited)
	return &c
}

// Covering returns the budgets that cover a pod.
func (l *Ledger) Covering(p *model.Pod) (out []*model.Budget) {
	for _, b := range l.budgets(p.Namespace) {
		if budget.Ledger.Covers(b, p) {
			out = append(out, b)
		}
	}
	return out
}

// Check returns the verdict of the budgets that cover a pod on its eviction.
func (l *Ledger) Check(now time.Time, p *model.Pod) budget.Verdict {
	covering := l.Covering(p)
	if len(covering) == 0 {
		return budget.Verdict{}
	}
	var pods []*model.Pod
	if l.rules.Recount {
		pods = l.podsUnder(covering)
	}
	return l.rules.Check(p, covering, pods, now)
}

// Debit records the eviction of a pod in the budgets with the names, unless they have a recent entry for it.
func (l *Ledger) Debit(now time.Time, p *model.Pod, names []string) {
	if len(names) == 0 {
		return
	}
	all := slices.Clone(l.budgets(p.Namespace))
	for i, b := range all {
		if slices.Contains(names, b.Name) && !budget.HasRecentEntry(b, p, now) {
			all[i] = budget.Debit(b, p, now)
		}
	}
	l.debited[p.Namespace] = all
}

// Names returns the names of budgets.
func Names(budgets []*model.Budget) (out []string) {
	for _, b := range budgets {
		out = append(out, b.Name)
	}
	return out
}

// budgets returns the budgets of a namespace with their debits.
func (l *Ledger) budgets(namespace string) []*model.Budget {
	if list, ok := l.debited[namespace]; ok {
		return list
	}
	list := l.budgetsIn(namespace)
	l.debited[namespace] = list
	return list
}
