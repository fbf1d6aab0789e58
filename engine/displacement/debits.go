package displacement

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// FilterDebits returns the debits of the given victims only.
func FilterDebits(debits []decision.Debit, victims []*model.Pod) []decision.Debit {
	var out []decision.Debit
	for _, d := range debits {
		isVictim := func(name string) bool {
			return slices.ContainsFunc(victims, func(v *model.Pod) bool { return v.Name == name && v.Namespace == d.Budget.Namespace })
		}
		debit := decision.Debit{Budget: d.Budget, Granted: filterNames(d.Granted, isVictim), Overruled: filterNames(d.Overruled, isVictim)}
		if len(debit.Granted)+len(debit.Overruled) > 0 {
			out = append(out, debit)
		}
	}
	return out
}

func filterNames(names []string, f func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !f(n) })
}
