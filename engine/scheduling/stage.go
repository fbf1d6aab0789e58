package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// stage is how far an attempt has come.
type stage uint8

const (
	asking    stage = iota // an Ask or AskVictims is under way; no room is taken
	preparing              // assumed; a Prepare is under way, or due again at the deadline
	prepared               // the claims are given away, but not bound yet
	binding                // assumed; a Bind is under way
	bound                  // the bind was granted; the pod is not seen on its node yet
	looking                // a Look is under way
	resting                // the next Look is due at the deadline
)

// unsent says that no Bind was asked for, so that nobody else knows of the attempt.
func (s stage) unsent() bool { return s < binding }

// attempt is a pod on its way from the queue to a node.
type attempt struct {
	uid, node string
	number    int
	first     time.Time
	stage     stage
	id        uint64 // of the awaited effect; 0 when none is
	deadline  time.Time
	// doubt lasts while an unanswered Bind may still be granted: until then a
	// refusal of another one proves nothing. It is zero while none is unanswered.
	doubt time.Time
	binds int       // how many were asked for
	begun time.Time // when the first of them was
	why   string    // the last one was not granted
	// opening is the first one's id until it is answered, which may be long after it was given up. Found: the
	// pod has its node, as something else has shown before that. Told: somebody was told that it has.
	opening     uint64
	found, told bool

	plan  *model.VolumePlan // what was asked of its volumes; nil when nothing was
	until time.Time         // when the volumes must be bound
	asked *asked            // what was put to extenders; nil when nothing was
}

func (a *attempt) due() time.Time { return a.deadline }
func (a *attempt) pod() string    { return a.uid }

// await moves the attempt to a stage and supersedes the effect it waited for.
func (m *Machine) await(a *attempt, s stage, id uint64, deadline time.Time) {
	if a.id != a.opening { // who tells of the pod depends on that
		delete(m.byEffect, a.id)
	}
	a.stage, a.id, a.deadline = s, id, deadline
	if id != 0 {
		m.byEffect[id] = a
	}
	m.deadlines.add(deadline, a)
}

// over ends the attempt of a pod, if there is one; what comes for it from now on is dropped.
func (m *Machine) over(uid string) {
	if a, ok := m.byPod[uid]; ok {
		delete(m.byEffect, a.id)
		delete(m.byEffect, a.opening)
		delete(m.byPod, uid)
		a.deadline = time.Time{}
		m.unprepare(a)
	}
}

// outcome takes in the answer to an effect. What nobody waits for any more is dropped.
func (m *Machine) outcome(now time.Time, o Outcome) {
	if r, ok := m.byReport[o.ID]; ok {
		m.reported(now, r, o)
		return
	}
	if n, ok := m.byNominee[o.ID]; ok {
		m.nominated(now, n, o)
		return
	}
	a, ok := m.byEffect[o.ID]
	if !ok {
		return
	}
	if o.ID == a.opening {
		m.opened(now, a, o)
	}
	if o.ID != a.id || m.byPod[a.uid] != a { // given up since, or the pod was seen on its node before
		return
	}
	switch a.stage {
	case asking:
		m.answered(now, a, o)
	case preparing:
		m.wasPrepared(now, a, o)
	case binding:
		m.wasBound(now, a, o)
	case looking:
		if o.Result == Done {
			m.seen(now, a, o.Seen)
		} else {
			m.await(a, resting, 0, now.Add(m.cfg.LookAgain))
		}
	}
}

// undo gives the room back and the pod to the queue, with an error that is reported.
// After a Conflict, why is empty: the pod, or what it needs, is not as it was
// thought to be; the watch will tell, and nothing is reported.
func (m *Machine) undo(now time.Time, a *attempt, why string) {
	m.over(a.uid)
	m.forget(now, a.uid)
	pod := m.state.Pod(a.uid)
	if why == "" {
		m.queue.Fail(now, a.uid)
	} else {
		m.fail(now, pod, a.number, why)
	}
	m.requeue(now, pod)
}

// expire acts on what was not answered in time.
func (m *Machine) expire(now time.Time) {
	for {
		t, ok := m.deadlines.next(now)
		if !ok {
			return
		}
		switch t := t.(type) {
		case *nominee:
			m.overdue(now, t)
		case *forsaken:
			m.rested(now, t)
		case *attempt:
			m.late(now, t)
		}
	}
}

// late acts on an attempt that was not answered in time.
func (m *Machine) late(now time.Time, a *attempt) {
	switch a.stage {
	case asking:
		m.answered(now, a, Outcome{Result: Unknown, Why: "no answer in time"})
	case preparing, prepared:
		m.prepareAgain(now, a)
	case binding:
		m.unheard(now, a, "no answer in time")
	default:
		m.look(now, a)
	}
}
