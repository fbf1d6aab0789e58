package scheduling

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// updateBudget applies a budget from the outcome of a Preempt. The watch may be ahead of that
// outcome, so an older version must not replace a newer one or restore a budget deleted since.
func (m *Machine) updateBudget(now time.Time, n *nomination, b *model.Budget) {
	known := m.knownBudget(b)
	switch {
	case known != nil && older(b.ResourceVersion, known.ResourceVersion):
	case known == nil && slices.ContainsFunc(n.plan.Debits, func(d decision.Debit) bool { return d.Budget.Namespace == b.Namespace && d.Budget.Name == b.Name }):
	default:
		m.upsert(now, b)
	}
}

// older reports whether resource version a is older than b. Versions are decimal numbers; an empty
// version is not older.
func older(a, b string) bool {
	return a != "" && cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) < 0
}
