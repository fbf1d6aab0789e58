package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// maxBindAttempts limits how often an attempt sends Bind without an outcome. The first retry is
// immediate; the next one follows after Config.RetryInterval, which then doubles.
const maxBindAttempts = 5

// bind sends Bind; retry marks a repeated one.
func (m *Machine) bind(now time.Time, a *attempt, pod *model.Pod, retry bool) {
	a.bindCount++
	id := m.emit(func(id uint64) Effect {
		return Bind{ID: id, Pod: pod, Node: a.node, Attempt: a.number, First: a.firstQueued, Retry: retry}
	})
	if !retry {
		a.firstBindAt, a.firstBindID = now, id
	}
	m.setStage(a, binding, id, now.Add(m.cfg.BindTimeout))
}

// handleBindOutcome handles the outcome of the last Bind. A refusal is not conclusive while an earlier Bind may still
// succeed.
func (m *Machine) handleBindOutcome(now time.Time, a *attempt, o Outcome) {
	switch {
	case o.Result == Done:
		m.queue.Remove(a.uid)
		if !a.uncertainUntil.IsZero() {
			m.reportBound(now, a)
			a.uncertainUntil = time.Time{}
		}
		m.setStage(a, bound, 0, now.Add(m.cfg.ConfirmTimeout))
	case o.Result == Unknown:
		m.handleBindTimeout(now, a, o.Reason)
	case now.Before(a.uncertainUntil):
		a.bindError = o.Reason
		m.setStage(a, waitingToRefresh, 0, now.Add(m.cfg.RetryInterval))
	case o.Result == Conflict:
		m.abortAttempt(now, a, "")
	default:
		m.abortAttempt(now, a, "binding to node \""+a.node+"\" was refused: "+o.Reason)
	}
}

// completeAttempt ends the attempt of a pod that is bound or finished. If the Bind to that node has
// no outcome, the pod is reported as bound.
func (m *Machine) completeAttempt(now time.Time, p *model.Pod) {
	a := m.attempts[p.UID]
	m.endAttempt(p.UID)
	if a != nil && a.node == p.NodeName && (a.firstBindID != 0 || !a.uncertainUntil.IsZero()) {
		m.reportBound(now, a)
	}
}

// reportBound emits ReportBound, unless the outcome of the first Bind has reported the binding or
// may still report it.
func (m *Machine) reportBound(now time.Time, a *attempt) {
	if a.firstBindID != 0 {
		a.boundObserved = true
		m.attemptsByEffect[a.firstBindID] = a
		return
	}
	pod := m.state.Pod(a.uid)
	if pod == nil || a.boundReported {
		return // the pod was deleted, or the binding was reported
	}
	a.boundReported = true
	m.emit(func(id uint64) Effect {
		return ReportBound{Bind: Bind{ID: id, Pod: pod, Node: a.node, Attempt: a.number, First: a.firstQueued}, Duration: now.Sub(a.firstBindAt)}
	})
}

// handleFirstBindOutcome handles the outcome of the attempt's first Bind, however late. A Done
// outcome has reported the binding.
func (m *Machine) handleFirstBindOutcome(now time.Time, a *attempt, o Outcome) {
	delete(m.attemptsByEffect, o.ID)
	a.firstBindID, a.boundReported = 0, o.Result == Done
	if a.boundObserved && (o.Result == Unknown || !a.uncertainUntil.IsZero() || a.bindCount > 1) {
		m.reportBound(now, a)
	}
}

// handleBindTimeout refreshes a pod whose Bind has no outcome.
func (m *Machine) handleBindTimeout(now time.Time, a *attempt, reason string) {
	a.uncertainUntil, a.bindError = now.Add(m.cfg.BindTimeout), reason
	m.refreshPod(now, a)
}

// refreshPod reads the attempt's pod from the API.
func (m *Machine) refreshPod(now time.Time, a *attempt) {
	pod := m.state.Pod(a.uid)
	id := m.emit(func(id uint64) Effect { return RefreshPod{ID: id, Pod: pod} })
	m.setStage(a, refreshing, id, now.Add(m.cfg.BindTimeout))
}

// handleRefreshedPod handles the pod that RefreshPod returned.
func (m *Machine) handleRefreshedPod(now time.Time, a *attempt, p *model.Pod) {
	if p == nil || p.UID != a.uid {
		m.removePod(now, a.uid)
		return
	}
	m.upsertPod(now, p)
	if m.attempts[a.uid] != a { // the pod is bound or finished
		return
	}
	if _, ok := m.state.NodeID(a.node); ok && !p.Deleting {
		m.retryBind(now, a)
		return
	}
	m.endAttempt(a.uid)
	m.forgetAssumed(now, a.uid)
	m.queue.RequeueFailed(now, a.uid)
	m.requeue(now, p)
}

// retryBind continues an attempt whose refreshed pod has no node. It retries Bind with the same
// node and increasing delays. It aborts the attempt when a refresh sent after uncertainUntil still
// finds the pod unbound.
func (m *Machine) retryBind(now time.Time, a *attempt) {
	sent := a.deadline.Add(-m.cfg.BindTimeout)
	retryAt := a.firstBindAt.Add(m.cfg.RetryInterval * (1<<(a.bindCount-1) - 1))
	switch {
	case a.bindCount < maxBindAttempts && now.Before(retryAt):
		m.setStage(a, waitingToRefresh, 0, retryAt)
	case a.bindCount < maxBindAttempts:
		m.bind(now, a, m.state.Pod(a.uid), true)
	case sent.Before(a.uncertainUntil):
		m.setStage(a, waitingToRefresh, 0, a.uncertainUntil)
	default:
		m.abortAttempt(now, a, "binding to node \""+a.node+"\" failed: "+a.bindError)
	}
}
