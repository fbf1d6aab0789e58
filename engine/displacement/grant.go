package displacement

import (
	"slices"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// debit debits the budgets of the decision from k on, one update each.
func (m *Machine) debit(k int) Action {
	m.conflicts, m.debited = 0, k
	if k == len(m.debits) {
		return m.mark(0)
	}
	return m.readBudget(k)
}

func (m *Machine) readBudget(k int) Action {
	b := m.debits[k].Budget
	return m.do(ReadBudget{b.Namespace, b.Name, Granting}, func(r Result) Action {
		switch r.Status {
		case Done:
			return m.planDebit(k, r.Budgets[0])
		case Absent:
			return m.debit(k + 1) // a deleted budget protects no pod
		}
		return m.debitFailed(k, r)
	})
}

// planDebit debits a budget that was read, unless it refuses.
func (m *Machine) planDebit(k int, b *model.Budget) Action {
	debit, required := PlanDebit(b, m.debits[k], m.remainingVictims())
	if required > int(Allowed(b)) && !m.cause().Policy().Overrules(m.spec.Attempt) {
		m.outcome.Verdict, m.outcome.Required = budget.Verdict{Result: budget.Refused, Budget: b}, required
		return m.undo(func() Action { return m.end(Refused, 0) })
	}
	m.adoptDebit(m.debits[k], debit)
	if debit.IsEmpty() {
		return m.debit(k + 1) // every victim was debited earlier
	}
	return m.do(WriteDebit{b, debit}, func(r Result) Action {
		switch r.Status {
		case Done:
			m.addDebit(b, debit)
			return m.debit(k + 1)
		case Absent:
			return m.debit(k + 1)
		case Conflict:
			if m.conflicts++; m.conflicts < maxConflicts {
				return m.readBudget(k)
			}
		}
		return m.debitFailed(k, r)
	})
}

// adoptDebit records the debits that an earlier run has written for victims with its condition. Whether they took a
// disruption is not known, so that a refund only removes their entries; the disruption controller then recounts.
func (m *Machine) adoptDebit(d decision.Debit, planned Debit) {
	var names []string
	for i := range m.victims {
		v := &m.victims[i]
		planned := slices.Contains(planned.Granted, v.Pod.Name) || slices.Contains(planned.Overruled, v.Pod.Name)
		if v.adopted && !planned && v.Pod.Namespace == d.Budget.Namespace && (slices.Contains(d.Granted, v.Pod.Name) || slices.Contains(d.Overruled, v.Pod.Name)) {
			names = append(names, v.Pod.Name)
		}
	}
	if len(names) > 0 {
		m.applied = append(m.applied, appliedDebit{Debit{Overruled: names}, d.Budget.Namespace, d.Budget.Name})
	}
}

// debitFailed handles a failed request for a budget. If the API server forbids updates of the status, as with the role
// of kube-scheduler, the displacement continues without a debit, as in Kubernetes.
func (m *Machine) debitFailed(k int, r Result) Action {
	if r.Status != Rejected {
		return m.fail(0, Unknown)
	}
	m.adoptDebit(m.debits[k], Debit{}) // an earlier run may have debited it
	return m.do(SkipDebit{m.debits[k].Budget}, func(Result) Action { return m.debit(k + 1) })
}

// addDebit records a debit. b is the budget before it.
func (m *Machine) addDebit(b *model.Budget, d Debit) {
	m.applied = append(m.applied, appliedDebit{d, b.Namespace, b.Name})
	entries := d.Entries(b)
	for i := range m.victims {
		v := &m.victims[i]
		if e, ok := entries[v.Pod.Name]; ok && v.Pod.Namespace == b.Namespace {
			v.entries = append(v.entries, e)
		}
	}
}

// remainingVictims returns the victims that have not ended.
func (m *Machine) remainingVictims() (out []*model.Pod) {
	for i := range m.victims {
		if v := &m.victims[i]; !v.ended {
			out = append(out, v.Pod)
		}
	}
	return out
}
