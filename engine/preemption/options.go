package preemption

import "github.com/berthproject/berth/engine/budget"

// Options are where Berth does better than kube-scheduler on purpose.
type Options struct {
	// LedgerBudgets: what budgets allow is taken from the ledger instead of a status
	// that may be stale (kubernetes#91492), and debited.
	LedgerBudgets bool
	// PreferMovable: among nodes that are equal by the five criteria that compare
	// victims, take the one where the fewest victims have nowhere else to go: pods of a
	// DaemonSet, and those that would find no other node (kubernetes#141227). It looks at
	// the first 8 in the order of ties.
	PreferMovable bool
}

// Defaults has all options on.
func Defaults() Options { return Options{LedgerBudgets: true, PreferMovable: true} }

func (o Options) rule() budget.Rule {
	if o.LedgerBudgets {
		return budget.Ledger
	}
	return budget.StatusOnly
}
