package preemption

import "github.com/berthproject/berth/engine/budget"

// Options enable improvements over kube-scheduler.
type Options struct {
	// LedgerBudgets recounts what budgets allow, instead of reading a status that may be stale
	// (kubernetes#91492), and debits them.
	LedgerBudgets bool
	// PreferMovable breaks ties between nodes by the fewest victims that have no other node. These are pods
	// of a DaemonSet, and pods that would not fit on any other node (kubernetes#141227). It examines the
	// first 8 nodes in tie-breaker order.
	PreferMovable bool
}

// Defaults returns all options enabled.
func Defaults() Options { return Options{LedgerBudgets: true, PreferMovable: true} }

func (o Options) rule() budget.Rule {
	if o.LedgerBudgets {
		return budget.Ledger
	}
	return budget.StatusOnly
}
