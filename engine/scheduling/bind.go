package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// maxBindAttempts is how often an attempt asks for its node while it has no answer: again at
// once, then after Config.LookAgain, and after twice as long each time.
const maxBindAttempts = 5

// bind asks for the attempt's node.
func (m *Machine) bind(now time.Time, a *attempt, pod *model.Pod, again bool) {
	a.bindCount++
	id := m.emit(func(id uint64) Effect {
		return Bind{ID: id, Pod: pod, Node: a.node, Attempt: a.number, First: a.firstQueued, Retry: again}
	})
	if !again {
		a.firstBindAt, a.firstBindID = now, id
	}
	m.setStage(a, binding, id, now.Add(m.cfg.BindTimeout))
}

// handleBindOutcome takes in the answer to a Bind.
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

// completeAttempt ends the attempt of a pod that is finished or has a node. Where a Bind for that
// node had no answer, or has none in the end, it is told that it was granted.
func (m *Machine) completeAttempt(now time.Time, p *model.Pod) {
	a := m.attempts[p.UID]
	m.endAttempt(p.UID)
	if a != nil && a.node == p.NodeName && (a.firstBindID != 0 || !a.uncertainUntil.IsZero()) {
		m.reportBound(now, a)
	}
}

// reportBound tells that the attempt's pod has its node, unless the answer to its first Bind does, or may yet.
func (m *Machine) reportBound(now time.Time, a *attempt) {
	if a.firstBindID != 0 {
		a.boundObserved = true
		m.attemptsByEffect[a.firstBindID] = a
		return
	}
	pod := m.state.Pod(a.uid)
	if pod == nil || a.boundReported {
		return // it is gone, or somebody knows
	}
	a.boundReported = true
	m.emit(func(id uint64) Effect {
		return ReportBound{Bind: Bind{ID: id, Pod: pod, Node: a.node, Attempt: a.number, First: a.firstQueued}, Duration: now.Sub(a.firstBindAt)}
	})
}

// handleFirstBindOutcome takes in the answer to the attempt's first Bind, whenever it comes, as far as it is about who
// tells of it: an answer that says Done does.
func (m *Machine) handleFirstBindOutcome(now time.Time, a *attempt, o Outcome) {
	delete(m.attemptsByEffect, o.ID)
	a.firstBindID, a.boundReported = 0, o.Result == Done
	if a.boundObserved && (o.Result == Unknown || !a.uncertainUntil.IsZero() || a.bindCount > 1) {
		m.reportBound(now, a)
	}
}

// handleBindTimeout looks at a pod whose Bind had no answer.
func (m *Machine) handleBindTimeout(now time.Time, a *attempt, why string) {
	a.uncertainUntil, a.bindError = now.Add(m.cfg.BindTimeout), why
	m.refreshPod(now, a)
}

// refreshPod asks how the attempt's pod is.
func (m *Machine) refreshPod(now time.Time, a *attempt) {
	pod := m.state.Pod(a.uid)
	id := m.emit(func(id uint64) Effect { return RefreshPod{ID: id, Pod: pod} })
	m.setStage(a, refreshing, id, now.Add(m.cfg.BindTimeout))
}

// handleRefreshedPod takes in what a Look found.
func (m *Machine) handleRefreshedPod(now time.Time, a *attempt, p *model.Pod) {
	if p == nil || p.UID != a.uid {
		m.removePod(now, a.uid)
		return
	}
	m.upsertPod(now, p)
	if m.attempts[a.uid] != a { // it is bound, or finished
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

// retryBind goes on with an attempt whose pod a Look found without a node. The same node is
// asked for again, less and less often, since a server that fails is not helped by being
// asked, and then no more. The room is given back when a Look that was sent after the
// doubt was over finds the pod unbound still.
func (m *Machine) retryBind(now time.Time, a *attempt) {
	sent := a.deadline.Add(-m.cfg.BindTimeout)
	again := a.firstBindAt.Add(m.cfg.RetryInterval * (1<<(a.bindCount-1) - 1))
	switch {
	case a.bindCount < maxBindAttempts && now.Before(again):
		m.setStage(a, waitingToRefresh, 0, again)
	case a.bindCount < maxBindAttempts:
		m.bind(now, a, m.state.Pod(a.uid), true)
	case sent.Before(a.uncertainUntil):
		m.setStage(a, waitingToRefresh, 0, a.uncertainUntil)
	default:
		m.abortAttempt(now, a, "binding to node \""+a.node+"\" was not granted: "+a.bindError)
	}
}
