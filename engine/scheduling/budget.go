package scheduling

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// updateBudget takes in a budget as the answer to a Preempt tells of it. The watch may have overtaken that: it
// shows a budget no second time, so what is older must not take the place of what it showed, nor bring
// back one that the choice counted with and that is deleted since.
func (m *Machine) updateBudget(now time.Time, n *nomination, b *model.Budget) {
	known := m.knownBudget(b)
	switch {
	case known != nil && older(b.ResourceVersion, known.ResourceVersion):
	case known == nil && slices.ContainsFunc(n.plan.Debits, func(d decision.Debit) bool { return d.Budget.Namespace == b.Namespace && d.Budget.Name == b.Name }):
	default:
		m.upsert(now, b)
	}
}

// older compares versions of an object, which are numbers in decimal; one that is not known is not older.
func older(a, b string) bool {
	return a != "" && cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) < 0
}
