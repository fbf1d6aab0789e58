package displacement

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// Machine is one displacement. Only this code decides the order in which budgets are debited, conditions set, records
// written and pods deleted. It also decides what the results mean, and what is undone. A driver executes its actions:
//
//	granting    read budgets, debit them: one update each, in the order of their names
//	executing   set the condition of every victim; then write the record of each victim and delete it
//	undoing     clear conditions, then refund debits
//
// Each write leaves a trace in the API: an entry in disruptedPods, the condition, the name of the event, the deletion. A
// repetition, also by another process after a crash, skips what it finds. Create a Machine with New.
type Machine struct {
	spec    Spec
	victims []victim
	debits  []decision.Debit
	applied []appliedDebit
	next    func(Result) Action // handles the result of the last action
	now     time.Time
	outcome Outcome

	debited   int    // number of debits that are handled
	attempt   int    // of an eviction, from 1
	conflicts int    // consecutive conflicts of the current write
	guarded   bool   // the pod of an eviction must not change until it is deleted
	version   string // of the pod of an eviction after this displacement wrote it
}

// victim is a victim with its progress.
type victim struct {
	Victim
	entries  []Entry
	marked   bool // it has the condition of the cause
	own      bool // this displacement has set the condition
	adopted  bool // an earlier run, maybe of another process, has set the condition
	recorded bool // its record needs no further write
	ended    bool // it is deleted, or being deleted with the condition, or another pod has its name
	deleted  bool // it has ended, maybe because this displacement or an earlier run has deleted it
	undone   bool // its condition is cleared, and no other actor displaces it
}

// appliedDebit is a debit that was written.
type appliedDebit struct {
	Debit
	namespace, budget string
}

// maxConflicts limits the attempts of an update that conflicts with other writers.
const maxConflicts = 10

// New returns a Machine.
func New(s Spec) *Machine {
	m := &Machine{spec: s, debits: s.Debits}
	for _, v := range s.Victims {
		m.victims = append(m.victims, m.observe(v))
	}
	m.next = m.start
	return m
}

// Next returns the next action, given the result of the last one, or nil at the end. The first result is ignored.
func (m *Machine) Next(now time.Time, r Result) Action {
	m.now = now
	return m.next(r)
}

// Outcome returns the outcome. It is valid after Next has returned nil.
func (m *Machine) Outcome() *Outcome { return &m.outcome }

func (m *Machine) start(Result) Action {
	switch {
	case m.spec.Eviction != nil:
		return m.tryEviction()
	case m.spec.Resume:
		return m.readVictims(0)
	}
	return m.debit(0)
}

// do returns an action whose result goes to handle.
func (m *Machine) do(a Action, handle func(Result) Action) Action {
	m.next = handle
	return a
}

func (m *Machine) cause() Cause { return m.spec.Record.Cause }

// observe returns a victim whose pod is as last observed. If a pod has the condition of the cause, an earlier run
// debited and marked it. The cause of an eviction is an exception: several requests can be about one pod.
func (m *Machine) observe(v Victim) victim {
	marked := v.Pod.DisruptionReason != "" && v.Pod.DisruptionReason == m.cause().Reason()
	return victim{Victim: v, marked: marked, adopted: marked && m.spec.Eviction == nil}
}

// readVictims reads the victims from index i on, and observes what an earlier run has executed.
func (m *Machine) readVictims(i int) Action {
	if i == len(m.victims) {
		m.debits = FilterDebits(m.debits, m.remainingVictims())
		return m.debit(0)
	}
	return m.do(ReadVictim{i, m.victims[i].Pod, Granting}, func(r Result) Action {
		v := &m.victims[i]
		switch {
		case r.Status == Absent:
			v.ended, v.deleted, v.recorded = true, true, !r.Uncertain
		case r.Status != Done:
			return m.fail(i, Unknown)
		case r.Pod.UID != v.Pod.UID:
			v.ended, v.deleted, v.recorded = true, true, true
		default:
			*v = m.observe(Victim{Pod: r.Pod, Fail: v.Fail})
			v.ended = v.marked && r.Pod.Deleting
			v.deleted = v.ended
		}
		return m.readVictims(i + 1)
	})
}

// fail ends the displacement because a request about a victim failed. An eviction is undone. Any other displacement is
// not undone once a victim is deleted. Before that, it is undone if the API server rejects the request. It is also
// undone while a victim lacks the condition, because a repetition would not recognize that victim's debits.
func (m *Machine) fail(i int, s Status) Action {
	switch {
	case m.spec.Eviction != nil || s == Rejected && !m.hasDeleted():
		return m.undo(func() Action { return m.end(Failed, i) })
	case m.hasUnmarked():
		return m.undo(func() Action { return m.end(Unfinished, i) })
	}
	return m.end(Unfinished, i)
}

func (m *Machine) hasUnmarked() bool {
	for i := range m.victims {
		if v := &m.victims[i]; !v.ended && !v.marked {
			return true
		}
	}
	return false
}

// hasDeleted reports whether the displacement may have deleted a victim. It deletes none before all have the condition.
func (m *Machine) hasDeleted() bool {
	if m.hasUnmarked() {
		return false
	}
	for i := range m.victims {
		if m.victims[i].deleted {
			return true
		}
	}
	return false
}

// end ends the displacement.
func (m *Machine) end(k OutcomeKind, i int) Action {
	m.outcome.Kind, m.outcome.Victim = k, i
	m.next = func(Result) Action { return nil }
	return nil
}
