package displace

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Only are the debits of some of the victims.
func Only(debits []decision.Debit, victims []*model.Pod) []decision.Debit {
	var out []decision.Debit
	for _, d := range debits {
		among := func(name string) bool {
			return slices.ContainsFunc(victims, func(v *model.Pod) bool { return v.Name == name && v.Namespace == d.Budget.Namespace })
		}
		kept := decision.Debit{Budget: d.Budget, Paid: keep(d.Paid, among), Overruled: keep(d.Overruled, among)}
		if len(kept.Paid)+len(kept.Overruled) > 0 {
			out = append(out, kept)
		}
	}
	return out
}

func keep(names []string, f func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !f(n) })
}
