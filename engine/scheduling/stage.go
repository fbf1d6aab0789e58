package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// stage is how far an attempt has come.
type stage uint8

const (
	callingExtenders  stage = iota // an Ask or AskVictims is under way; no room is taken
	bindingVolumes                 // assumed; a Prepare is under way, or due again at the deadline
	waitingForVolumes              // the claims are given away, but not bound yet
	binding                        // assumed; a Bind is under way
	bound                          // the bind was granted; the pod is not seen on its node yet
	refreshing                     // a Look is under way
	waitingToRefresh               // the next Look is due at the deadline
)

// beforeBind says that no Bind was asked for, so that nobody else knows of the attempt.
func (s stage) beforeBind() bool { return s < binding }

// attempt is a pod on its way from the queue to a node.
type attempt struct {
	uid, node   string
	number      int
	firstQueued time.Time
	stage       stage
	effectID    uint64 // of the awaited effect; 0 when none is
	deadline    time.Time
	// uncertainUntil lasts while an unanswered Bind may still be granted: until then a
	// refusal of another one proves nothing. It is zero while none is unanswered.
	uncertainUntil time.Time
	bindCount      int       // how many were asked for
	firstBindAt    time.Time // when the first of them was
	bindError      string    // the last one was not granted
	// firstBindID is the first one's id until it is answered, which may be long after it was given up. Found: the
	// pod has its node, as something else has shown before that. Told: somebody was told that it has.
	firstBindID                  uint64
	boundObserved, boundReported bool

	volumePlan      *model.VolumePlan // what was asked of its volumes; nil when nothing was
	volumesDeadline time.Time         // when the volumes must be bound
	extenderCall    *extenderCall     // what was put to extenders; nil when nothing was
}

func (a *attempt) due() time.Time { return a.deadline }
func (a *attempt) pod() string    { return a.uid }

// setStage moves the attempt to a stage and supersedes the effect it waited for.
func (m *Machine) setStage(a *attempt, s stage, id uint64, deadline time.Time) {
	if a.effectID != a.firstBindID { // who tells of the pod depends on that
		delete(m.attemptsByEffect, a.effectID)
	}
	a.stage, a.effectID, a.deadline = s, id, deadline
	if id != 0 {
		m.attemptsByEffect[id] = a
	}
	m.deadlines.add(deadline, a)
}

// endAttempt ends the attempt of a pod, if there is one; what comes for it from now on is dropped.
func (m *Machine) endAttempt(uid string) {
	if a, ok := m.attempts[uid]; ok {
		delete(m.attemptsByEffect, a.effectID)
		delete(m.attemptsByEffect, a.firstBindID)
		delete(m.attempts, uid)
		a.deadline = time.Time{}
		m.dropVolumeBind(a)
	}
}

// handleOutcome takes in the answer to an effect. What nobody waits for any more is dropped.
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
	if o.ID != a.effectID || m.attempts[a.uid] != a { // given up since, or the pod was seen on its node before
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

// abortAttempt gives the room back and the pod to the queue, with an error that is reported.
// After a Conflict, why is empty: the pod, or what it needs, is not as it was
// thought to be; the watch will tell, and nothing is reported.
func (m *Machine) abortAttempt(now time.Time, a *attempt, why string) {
	m.endAttempt(a.uid)
	m.forgetAssumed(now, a.uid)
	pod := m.state.Pod(a.uid)
	if why == "" {
		m.queue.RequeueFailed(now, a.uid)
	} else {
		m.requeueWithError(now, pod, a.number, why)
	}
	m.requeue(now, pod)
}

// handleDeadlines acts on what was not answered in time.
func (m *Machine) handleDeadlines(now time.Time) {
	for {
		t, ok := m.deadlines.next(now)
		if !ok {
			return
		}
		switch t := t.(type) {
		case *nomination:
			m.handleNominationTimeout(now, t)
		case *failedNodes:
			m.resumePreemption(now, t)
		case *attempt:
			m.handleAttemptTimeout(now, t)
		}
	}
}

// handleAttemptTimeout acts on an attempt that was not answered in time.
func (m *Machine) handleAttemptTimeout(now time.Time, a *attempt) {
	switch a.stage {
	case callingExtenders:
		m.handleExtenderOutcome(now, a, Outcome{Result: Unknown, Reason: "no answer in time"})
	case bindingVolumes, waitingForVolumes:
		m.retryBindVolumes(now, a)
	case binding:
		m.handleBindTimeout(now, a, "no answer in time")
	default:
		m.refreshPod(now, a)
	}
}
