package budget

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Allowances is what a set of budgets allows at one moment.
type Allowances struct {
	Rule    Rule
	Budgets []*model.Budget // sorted by namespace and name
	Allowed []int32         // by budget
}

// NewAllowances returns the allowances of budgets, given the number of healthy pods of each in the
// same order; StatusOnly ignores them.
func NewAllowances(r Rule, budgets []*model.Budget, healthy []int32) *Allowances {
	a := &Allowances{Rule: r, Budgets: budgets, Allowed: make([]int32, len(budgets))}
	for i, b := range budgets {
		var n int32
		if i < len(healthy) {
			n = healthy[i]
		}
		a.Allowed[i] = r.Allowed(b, n)
	}
	return a
}

// Split divides potential victims, sorted by descending importance, into those whose eviction
// violates a budget and the others, keeping their order. Each pod consumes one disruption of every budget
// that covers it.
func (a *Allowances) Split(pods []*model.Pod) (violating, nonViolating []*model.Pod) {
	remaining := slices.Clone(a.Allowed)
	for _, p := range pods {
		violation := false
		for i, b := range a.Budgets {
			if a.Rule.Covers(b, p) && a.Rule.Costs(b, p) {
				remaining[i]--
				violation = violation || remaining[i] < 0
			}
		}
		if violation {
			violating = append(violating, p)
		} else {
			nonViolating = append(nonViolating, p)
		}
	}
	return violating, nonViolating
}

// Debits returns the disruptions that victims, sorted by descending importance, consume of the budgets. A budget
// grants as many as it allows; the others overrule it. Budgets without a debit are omitted. StatusOnly debits
// nothing.
func (a *Allowances) Debits(victims []*model.Pod) []decision.Debit {
	if a.Rule == StatusOnly {
		return nil
	}
	var out []decision.Debit
	for i, b := range a.Budgets {
		d := decision.Debit{Budget: b}
		for _, p := range victims {
			switch {
			case !a.Rule.Covers(b, p) || !a.Rule.Costs(b, p):
			case int32(len(d.Granted)) < a.Allowed[i]:
				d.Granted = append(d.Granted, p.Name)
			default:
				d.Overruled = append(d.Overruled, p.Name)
			}
		}
		if len(d.Granted)+len(d.Overruled) > 0 {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(x, y decision.Debit) int { return compareName(x.Budget, y.Budget) })
	return out
}

func compareName(a, b *model.Budget) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
