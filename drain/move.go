package drain

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// stage is how far a pod is on its way.
type stage uint8

const (
	waiting   stage = iota // for its turn, or for a budget
	requested              // an eviction is under way
	granted                // it leaves, or is gone
)

// Move is a pod that is to leave a drained node.
type Move struct {
	Pod  *model.Pod // as it was seen last
	Node string     // that it is to leave
	// Round in which it was evicted; 0: not yet. Surged: its owner ran one more meanwhile.
	Round  int
	Surged bool
	// Replacement is the pod that came for it; nil: none, or not yet.
	Replacement *model.Pod
	// FirstBlock is what held it when its turn came first, Block what holds it now; nil: nothing.
	FirstBlock, Block *Block

	stage              stage
	lastTried          int             // the last round in which it had its turn
	before             map[string]bool // pods of its owner when it was evicted, by uid: whether they had a node
	blocksSiblings     bool            // it is leaving, and others of its workload wait until it is gone
	awaitTermination   bool            // its end may be noticed
	since              time.Time       // of its stage
	goneAt             time.Time       // when it was seen to be gone
	noReplacement      bool            // nobody makes a replacement
	placedAt           time.Time       // when the replacement was seen on a node
	readyTimedOut      bool            // the replacement took too long to be Ready
	refusedPermanently bool            // that refused it for good
	refusal            string          // what the API server said to the last eviction
	retryAfter         time.Time       // it is not asked for again before
	firstRefused       time.Time       // when it was refused first in this round
}

// Evicted says that it leaves, or is gone.
func (m *Move) Evicted() bool { return m.stage == granted }

// Gone says that it is gone.
func (m *Move) Gone() bool { return !m.goneAt.IsZero() }

// expectsReplacement says that somebody is to make a replacement.
func (m *Move) expectsReplacement() bool { return m.Pod.Owner.UID != "" && !m.noReplacement }

// observe brings a move up to date.
func (m *Move) observe(now time.Time, v *View, p Timeouts, taken map[string]bool) {
	is := v.Pod(m.Pod.UID)
	if is != nil {
		m.Pod = is
	}
	if is == nil && m.goneAt.IsZero() {
		m.goneAt = now
	}
	if m.stage != granted {
		if is == nil || is.Deleting { // it leaves by itself, or somebody else had it leave
			m.setStage(granted, now)
		}
		return
	}
	m.findReplacement(now, v, taken)
	if m.Replacement == nil && m.Gone() && now.Sub(m.goneAt) >= p.Replacement {
		m.noReplacement = true
	}
	r := m.Replacement
	switch {
	case r == nil || r.NodeName == "" || r.Ready:
		m.placedAt, m.readyTimedOut = time.Time{}, false
	case m.placedAt.IsZero():
		m.placedAt = now
	case now.Sub(m.placedAt) >= p.Ready:
		m.readyTimedOut = true
	}
}

// findReplacement finds the replacement, and how it is: the oldest pod of the owner that was not
// there when the pod was evicted. While that has no node, a sibling of it that had none either and
// got one takes its place: but for a StatefulSet's, pods of an owner stand for each other.
func (m *Move) findReplacement(now time.Time, v *View, taken map[string]bool) {
	if !m.expectsReplacement() || m.before == nil {
		return
	}
	if r := m.Replacement; r != nil {
		is := v.Pod(r.UID)
		switch {
		case is == nil || is.Deleting: // it left, too; another one will come
			m.Replacement = nil
			m.before[r.UID] = true
			if m.Gone() {
				m.goneAt = now
			}
		case is.NodeName != "" || m.Pod.Owner.Kind == "StatefulSet":
			m.Replacement = is
			return
		default:
			m.Replacement = is
		}
	}
	for _, p := range v.OwnedBy(m.Pod.Owner) {
		if m.before[p.UID] || taken[p.UID] || p.Deleting || m.Replacement != nil && p.NodeName == "" {
			continue
		}
		if _, old := m.before[p.UID]; old && (p.NodeName == "" || m.Pod.Owner.Kind == "StatefulSet") {
			continue // it waited before
		}
		if m.Replacement != nil {
			delete(taken, m.Replacement.UID)
		}
		m.Replacement = p
		taken[p.UID] = true
		if p.NodeName != "" {
			return
		}
	}
}

func (m *Move) setStage(s stage, now time.Time) { m.stage, m.since = s, now }

// apiServerBlock is the block of what the API server said.
func (m *Move) apiServerBlock() *Block {
	return &Block{Kind: ByAPIServer, Reason: m.refusal, Permanent: m.refusedPermanently}
}

// busy says that the workload has to wait for it: its replacement is to come, or to be Ready,
// or it is leaving and delays others.
func (m *Move) busy() bool {
	if m.stage == waiting {
		return false
	}
	if m.alreadyTerminating() {
		return m.blocksSiblings
	}
	if m.stage == requested || !m.Gone() {
		return true
	}
	return m.expectsReplacement() && m.before != nil && (m.Replacement == nil || !m.Replacement.Ready)
}

// complete says that its round has not to wait for it any more.
func (m *Move) complete() bool {
	if !m.busy() {
		return true
	}
	r := m.Replacement
	return m.stage == granted && m.Gone() && r != nil && (r.NodeName == "" || m.readyTimedOut)
}
