package displacement

import (
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

// MaxEvictionAttempts is the number of attempts of an eviction if objects change concurrently.
const MaxEvictionAttempts = 20

// maxRetryDelay is the upper bound of the backoff between attempts.
const maxRetryDelay = 500 * time.Millisecond

// tryEviction begins an attempt: it reads the pod.
func (m *Machine) tryEviction() Action {
	m.attempt++
	return m.do(ReadVictim{0, m.victims[0].Pod, Granting}, func(r Result) Action {
		v := &m.victims[0]
		switch {
		case r.Status != Done:
			v.ended = v.ended || r.Status == Absent
			return m.fail(0, r.Status)
		case v.Pod.UID != "" && v.Pod.UID != r.Pod.UID:
			m.applied, v.entries, m.version = nil, nil, "" // they belong to a deleted pod of the same name
		}
		v.Pod, v.own, v.recorded = r.Pod, r.Own, r.Pod.Deleting || r.Pod.Finished()
		if k, unmet := m.unmetPrecondition(r.Pod); unmet && !m.spec.Eviction.KeepDebits {
			return m.undo(func() Action { return m.end(k, 0) })
		}
		return m.do(ReadBudgets{r.Pod}, m.checkBudgets)
	})
}

// unmetPrecondition returns the precondition that the pod does not meet. It ignores the change that an earlier attempt
// of this request made.
func (m *Machine) unmetPrecondition(p *model.Pod) (OutcomeKind, bool) {
	e := m.spec.Eviction
	switch {
	case e.UID != "" && e.UID != p.UID:
		m.outcome.Pod = p
		return UnmetUID, true
	case e.ResourceVersion != "" && e.ResourceVersion != p.ResourceVersion && m.version != p.ResourceVersion:
		m.outcome.Pod = p
		return UnmetVersion, true
	}
	return 0, false
}

// checkBudgets checks the budgets. It reads the pods after the budgets, so that a disruption granted in between is
// visible either in disruptedPods or in the pods.
func (m *Machine) checkBudgets(r Result) Action {
	if r.Status != Done {
		return m.fail(0, r.Status)
	}
	p := m.victims[0].Pod
	var covering []*model.Budget
	for _, b := range r.Budgets {
		if budget.Ledger.Covers(b, p) {
			covering = append(covering, b)
		}
	}
	rules := m.spec.Eviction.Rules
	for _, d := range m.applied {
		rules.OwnEntries = append(rules.OwnEntries, d.budget)
	}
	first := rules
	first.Recount = false
	v := first.Check(p, covering, nil, m.now)
	if !rules.Recount || v.Result != budget.Granted || len(covering) == 0 || p.Phase == model.Pending || p.Deleting || p.Finished() {
		return m.decide(v)
	}
	return m.do(ReadMembers{covering}, func(r Result) Action {
		if r.Status != Done {
			return m.fail(0, r.Status)
		}
		return m.decide(rules.Check(p, covering, r.Pods, m.now))
	})
}

// decide acts on the verdict of the budgets.
func (m *Machine) decide(v budget.Verdict) Action {
	switch e := m.spec.Eviction; {
	case v.Result != budget.Granted:
		m.outcome.Verdict = v
		return m.undo(func() Action { return m.end(Refused, 0) })
	case e.DryRun:
		if k, unmet := m.unmetPrecondition(m.victims[0].Pod); unmet {
			return m.end(k, 0)
		}
		return m.do(Delete{Pod: m.victims[0].Pod, Version: e.ResourceVersion, Grace: m.spec.Record.Grace, DryRun: true}, func(r Result) Action {
			if r.Status != Done {
				return m.end(Failed, 0)
			}
			return m.end(Displaced, 0)
		})
	}
	p := m.victims[0].Pod
	sharesCondition := p.DisruptionReason != "" && !p.Deleting && !m.victims[0].own
	// Another eviction has set the condition, and may have debited the budgets. If it fails and reverts both, this one
	// must not continue.
	m.guarded = v.RequireUnchanged || sharesCondition
	return m.debitVerdict(v.Debits)
}

// debitVerdict debits the budgets one after another. If a budget has changed since it was read, another attempt begins,
// which keeps the debits made so far.
func (m *Machine) debitVerdict(budgets []*model.Budget) Action {
	if len(budgets) == 0 {
		return m.checkLate()
	}
	b, d := budgets[0], Debit{Granted: []string{m.victims[0].Pod.Name}}
	return m.do(WriteDebit{b, d}, func(r Result) Action {
		switch r.Status {
		case Done:
			m.addDebit(b, d)
			return m.debitVerdict(budgets[1:])
		case Conflict, Absent:
			return m.retryEviction(0)
		}
		return m.fail(0, r.Status)
	})
}

// checkLate checks the preconditions after the debit, as kube-apiserver does, if KeepDebits is set.
func (m *Machine) checkLate() Action {
	if !m.spec.Eviction.KeepDebits {
		return m.mark(0)
	}
	return m.do(ReadVictim{0, m.victims[0].Pod, Executing}, func(r Result) Action {
		if r.Status != Done {
			return m.fail(0, r.Status)
		}
		if k, unmet := m.unmetPrecondition(r.Pod); unmet {
			return m.end(k, 0)
		}
		if v := &m.victims[0]; v.Pod.UID == r.Pod.UID {
			v.Pod = r.Pod
		}
		return m.mark(0)
	})
}

// retryEviction waits and begins another attempt.
func (m *Machine) retryEviction(i int) Action {
	if m.attempt == MaxEvictionAttempts {
		return m.undo(func() Action { return m.end(Exhausted, i) })
	}
	return m.do(Wait{min(maxRetryDelay, 5*time.Millisecond<<min(m.attempt-1, 10))}, func(Result) Action { return m.tryEviction() })
}

// requiresVersion reports whether the pod of an eviction must not change between the check of the preconditions and the
// deletion.
func (m *Machine) requiresVersion() bool {
	return m.guarded || m.spec.Eviction != nil && m.spec.Eviction.ResourceVersion != ""
}

// deleteVersion returns the resource version that the pod must have when it is deleted, or "".
func (m *Machine) deleteVersion() string {
	if m.requiresVersion() {
		return m.version
	}
	return ""
}

// evictionRule returns the rule of an eviction's record: the reason in the request, and why no budget is debited.
func (m *Machine) evictionRule(r *Record) string {
	note := ""
	switch {
	case r.Victim.Phase == model.Pending:
		note = "the pod had not started, so no disruption budget was debited"
	case !r.Victim.Ready && len(r.Entries) == 0:
		note = "the pod was not ready, so no disruption budget was debited"
	}
	if r.Rule != "" && note != "" {
		return r.Rule + "; " + note
	}
	return r.Rule + note
}
