package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// stage is the state of an attempt.
type stage uint8

const (
	callingExtenders  stage = iota // an extender call is in flight; nothing is assumed
	bindingVolumes                 // assumed; a BindVolumes is in flight or due again at the deadline
	waitingForVolumes              // the claims are assigned but not bound yet
	binding                        // assumed; a Bind is in flight
	bound                          // the Bind succeeded; the watch does not show it yet
	refreshing                     // a RefreshPod is in flight
	waitingToRefresh               // the next RefreshPod is due at the deadline
)

// beforeBind reports whether no Bind has been sent.
func (s stage) beforeBind() bool { return s < binding }

// attempt tracks a pod after the queue returned it, until the watch shows it on its node.
type attempt struct {
	uid, node   string
	number      int
	firstQueued time.Time
	stage       stage
	effectID    uint64 // of the effect in flight; 0: none
	deadline    time.Time
	// uncertainUntil is set while an unanswered Bind may still succeed. Until then the refusal of
	// another Bind is not conclusive.
	uncertainUntil time.Time
	bindCount      int       // number of Binds sent
	firstBindAt    time.Time // time of the first Bind
	bindError      string    // why the last Bind failed
	firstBindID    uint64    // ID of the first Bind until its outcome arrives, however late
	boundObserved  bool      // the pod was observed bound before that outcome arrived
	boundReported  bool      // the binding was reported

	volumePlan      *model.VolumePlan // plan for the pod's volumes, or nil
	volumesDeadline time.Time         // when the volumes must be bound
	extenderCall    *extenderCall     // the call to extenders, or nil
}

func (a *attempt) due() time.Time { return a.deadline }
func (a *attempt) podUID() string { return a.uid }

// setStage sets the attempt's stage and replaces its effect in flight.
func (m *Machine) setStage(a *attempt, s stage, id uint64, deadline time.Time) {
	if a.effectID != a.firstBindID { // the outcome of the first Bind is always handled
		delete(m.attemptsByEffect, a.effectID)
	}
	a.stage, a.effectID, a.deadline = s, id, deadline
	if id != 0 {
		m.attemptsByEffect[id] = a
	}
	m.deadlines.add(deadline, a)
}

// endAttempt ends the attempt of a pod, if any. Later outcomes for the attempt are dropped, except the outcome of the
// first Bind if reportBound waits for it.
func (m *Machine) endAttempt(uid string) {
	if a, ok := m.attempts[uid]; ok {
		delete(m.attemptsByEffect, a.effectID)
		delete(m.attemptsByEffect, a.firstBindID)
		delete(m.attempts, uid)
		a.deadline = time.Time{}
		m.dropVolumeBind(a)
	}
}

// handleOutcome dispatches the outcome of an effect. Outcomes that no attempt expects are
// dropped.
func (m *Machine) handleOutcome(now time.Time, o Outcome) {
	if r, ok := m.reportsByEffect[o.ID]; ok {
		m.handleReportOutcome(now, r, o)
		return
	}
	if n, ok := m.nominationsByEffect[o.ID]; ok {
		m.handleNominationOutcome(now, n, o)
		return
	}
	a, ok := m.attemptsByEffect[o.ID]
	if !ok {
		return
	}
	if o.ID == a.firstBindID {
		m.handleFirstBindOutcome(now, a, o)
	}
	if o.ID != a.effectID || m.attempts[a.uid] != a { // superseded, or the pod is already bound
		return
	}
	switch a.stage {
	case callingExtenders:
		m.handleExtenderOutcome(now, a, o)
	case bindingVolumes:
		m.handleBindVolumesOutcome(now, a, o)
	case binding:
		m.handleBindOutcome(now, a, o)
	case refreshing:
		if o.Result == Done {
			m.handleRefreshedPod(now, a, o.Pod)
		} else {
			m.setStage(a, waitingToRefresh, 0, now.Add(m.cfg.RetryInterval))
		}
	}
}

// abortAttempt forgets the assumed pod, requeues it and reports the error. After a Conflict, reason is empty and
// nothing is reported: the watch delivers the change.
func (m *Machine) abortAttempt(now time.Time, a *attempt, reason string) {
	m.endAttempt(a.uid)
	m.forgetAssumed(now, a.uid)
	pod := m.state.Pod(a.uid)
	if reason == "" {
		m.queue.RequeueFailed(now, a.uid)
	} else {
		m.requeueWithError(now, pod, a.number, reason)
	}
	m.requeue(now, pod)
}

// handleDeadlines handles the nominations, preemption failures and attempts whose deadline has passed.
func (m *Machine) handleDeadlines(now time.Time) {
	for {
		t, ok := m.deadlines.next(now)
		if !ok {
			return
		}
		switch t := t.(type) {
		case *nomination:
			m.handleNominationTimeout(now, t)
		case *preemptionFailures:
			m.resumePreemption(now, t)
		case *attempt:
			m.handleAttemptTimeout(now, t)
		}
	}
}

// handleAttemptTimeout handles an attempt whose deadline has passed.
func (m *Machine) handleAttemptTimeout(now time.Time, a *attempt) {
	switch a.stage {
	case callingExtenders:
		m.handleExtenderOutcome(now, a, Outcome{Result: Unknown, Reason: "timed out"})
	case bindingVolumes, waitingForVolumes:
		m.retryBindVolumes(now, a)
	case binding:
		m.handleBindTimeout(now, a, "timed out")
	default:
		m.refreshPod(now, a)
	}
}
