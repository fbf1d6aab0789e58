package displacement

import "slices"

// undo clears the conditions of the victims and then refunds their debits, as far as no other actor relies on them. A
// condition is cleared first: an actor that relies on the debit then reads a changed pod and decides again.
func (m *Machine) undo(then func() Action) Action {
	if e := m.spec.Eviction; e != nil && e.KeepDebits {
		return then()
	}
	for ; m.debited < len(m.debits); m.debited++ {
		m.adoptDebit(m.debits[m.debited], Debit{})
	}
	return m.clear(0, then)
}

// clear clears the conditions of the victims from i on.
func (m *Machine) clear(i int, then func() Action) Action {
	m.conflicts = 0
	for i < len(m.victims) && !m.needsUndo(&m.victims[i]) {
		i++
	}
	if i == len(m.victims) {
		return m.refund(0, then)
	}
	return m.clearCondition(i, then)
}

// needsUndo reports whether this displacement or an earlier run has set the condition of a victim or debited it.
func (m *Machine) needsUndo(v *victim) bool {
	debited := slices.ContainsFunc(m.applied, func(d appliedDebit) bool {
		return d.namespace == v.Pod.Namespace && (slices.Contains(d.Granted, v.Pod.Name) || slices.Contains(d.Overruled, v.Pod.Name))
	})
	return !v.ended && (v.own || v.adopted || debited)
}

// clearCondition clears the condition of a victim. The debits of a pod that is deleted or replaced are not refunded:
// the disruption is real, and the entry expires. Those of a pod that another actor displaces are not, because that
// actor relies on the entry, and another displacement would use the refund.
func (m *Machine) clearCondition(i int, then func() Action) Action {
	v := &m.victims[i]
	return m.do(ClearCondition{i, v.Pod, v.adopted}, func(r Result) Action {
		switch r.Status {
		case Done:
			v.undone = r.Pod.UID == v.Pod.UID && !r.Pod.Deleting && r.Pod.DisruptionReason == ""
			v.own, v.adopted, v.marked = false, false, v.marked && !v.undone
		case Conflict:
			if m.conflicts++; m.conflicts < maxConflicts {
				return m.clearCondition(i, then)
			}
		}
		return m.clear(i+1, then)
	})
}

// refund refunds the debits from k on. Those that cannot be refunded expire.
func (m *Machine) refund(k int, then func() Action) Action {
	m.conflicts = 0
	for ; k < len(m.applied); k++ {
		d := &m.applied[k]
		if d.Debit = d.restrictedTo(func(name string) bool { return m.isUndone(d.namespace, name) }); !d.IsEmpty() {
			return m.readRefunded(k, then)
		}
	}
	m.applied = nil
	return then()
}

func (m *Machine) isUndone(namespace, name string) bool {
	return slices.ContainsFunc(m.victims, func(v victim) bool { return v.undone && v.Pod.Namespace == namespace && v.Pod.Name == name })
}

func (m *Machine) readRefunded(k int, then func() Action) Action {
	d := &m.applied[k]
	return m.do(ReadBudget{d.namespace, d.budget, Undoing}, func(r Result) Action {
		if r.Status != Done || !d.hasEntry(r.Budgets[0].Disrupted) {
			return m.refund(k+1, then) // the disruption controller has removed the entries, and recomputed the status
		}
		return m.do(WriteRefund{r.Budgets[0], d.Debit}, func(r Result) Action {
			switch r.Status {
			case Done:
				m.outcome.Refunded = append(m.outcome.Refunded, r.Budgets...)
			case Conflict:
				if m.conflicts++; m.conflicts < maxConflicts {
					return m.readRefunded(k, then)
				}
			}
			return m.refund(k+1, then)
		})
	})
}

// hasEntry reports whether one of the names in disruptedPods, sorted, is of the debit.
func (d *appliedDebit) hasEntry(disrupted []string) bool {
	return slices.ContainsFunc(slices.Concat(d.Granted, d.Overruled), func(name string) bool {
		_, found := slices.BinarySearch(disrupted, name)
		return found
	})
}
