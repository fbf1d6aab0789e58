package displacement

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Debit is what a displacement takes from one budget.
type Debit struct {
	// Granted are the pods that take an allowed disruption. Overruled are those that are displaced although the budget
	// allows no disruption for them; they get an entry only. A pod is in at most one of them.
	Granted, Overruled []string
}

// IsEmpty reports whether the debit changes nothing.
func (d Debit) IsEmpty() bool { return len(d.Granted)+len(d.Overruled) == 0 }

// restrictedTo returns the debit of the pods for which f returns true.
func (d Debit) restrictedTo(f func(name string) bool) Debit {
	return Debit{Granted: filterNames(d.Granted, f), Overruled: filterNames(d.Overruled, f)}
}

// PlanDebit returns the debit of a decision from a budget, and the number of disruptions that the budget must allow for
// it. The debit omits pods that have an entry: they were debited earlier, by this or another actor. A decision that
// overrules the budget also takes the disruptions that the budget still allows, so that the budget refuses other
// actors. The victims are the pods of the decision.
func PlanDebit(b *model.Budget, d decision.Debit, victims []*model.Pod) (debit Debit, required int) {
	granted := withoutEntry(b, d.Granted, victims)
	names := slices.Concat(granted, withoutEntry(b, d.Overruled, victims))
	n := min(len(names), int(Allowed(b)))
	return Debit{Granted: names[:n:n], Overruled: names[n:]}, len(granted)
}

// Allowed returns how many pods a budget allows to disrupt. It returns 0 while the status is of an older generation, as
// the eviction API does.
func Allowed(b *model.Budget) int32 {
	if b.ObservedGeneration < b.Generation {
		return 0
	}
	return max(0, b.DisruptionsAllowed)
}

// withoutEntry returns the names without an entry in disruptedPods. An entry older than the pod belongs to an earlier
// pod of the same name.
func withoutEntry(b *model.Budget, names []string, victims []*model.Pod) []string {
	return filterNames(names, func(name string) bool {
		i, found := slices.BinarySearch(b.Disrupted, name)
		return !found || slices.ContainsFunc(victims, func(v *model.Pod) bool {
			return v.Name == name && v.Namespace == b.Namespace && b.DisruptedAt[i].Before(v.Created)
		})
	})
}

// Entries returns the entries of a debit for the displacement records, by pod name. b is the budget before the debit.
func (d Debit) Entries(b *model.Budget) map[string]Entry {
	after := b.DisruptionsAllowed - int32(len(d.Granted))
	out := make(map[string]Entry, len(d.Granted)+len(d.Overruled))
	for _, name := range d.Granted {
		out[name] = Entry{Budget: b.Name, Before: b.DisruptionsAllowed, After: after}
	}
	for _, name := range d.Overruled {
		out[name] = Entry{Budget: b.Name, Before: b.DisruptionsAllowed, After: after, Overruled: true}
	}
	return out
}

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
