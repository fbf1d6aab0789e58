package drain

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// stage is the progress of a move.
type stage uint8

const (
	waiting   stage = iota // for its turn or a budget
	requested              // the eviction is requested
	granted                // the pod terminates or is deleted
)

// Move is a pod to evict from a drained node.
type Move struct {
	Pod  *model.Pod // as last observed
	Node string
	// Round is the round of the eviction, 0 before. Surged: its owner ran an additional replica.
	Round  int
	Surged bool
	// Replacement is the pod that replaces it, or nil.
	Replacement *model.Pod
	// FirstBlock is its first block, Block the current one; nil if there is none.
	FirstBlock, Block *Block

	stage              stage
	lastTried          int             // last round in which it was tried
	existing           map[string]bool // pods of the owner before the eviction, by UID: whether they were scheduled
	blocksSiblings     bool            // terminating without the drain; siblings wait for its deletion
	awaitTermination   bool            // its termination may affect placement
	since              time.Time       // start of the stage
	deletedAt          time.Time       // when its deletion was observed
	noReplacement      bool            // no controller creates a replacement
	placedAt           time.Time       // when the replacement was observed on a node
	readyTimedOut      bool            // the replacement was not Ready in time
	refusedPermanently bool            // the refusal is permanent
	refusal            string          // the last refusal by the API server
	retryAfter         time.Time       // time of the next request
	firstRefused       time.Time       // first refusal in this round
}

// Evicted reports whether the pod terminates or is deleted.
func (m *Move) Evicted() bool { return m.stage == granted }

// Deleted reports whether the pod is deleted.
func (m *Move) Deleted() bool { return !m.deletedAt.IsZero() }

// expectsReplacement reports whether a controller should replace the pod.
func (m *Move) expectsReplacement() bool { return m.Pod.Owner.UID != "" && !m.noReplacement }

func (m *Move) observe(now time.Time, v *View, t Timeouts, assigned map[string]bool) {
	current := v.Pod(m.Pod.UID)
	if current != nil {
		m.Pod = current
	}
	if current == nil && m.deletedAt.IsZero() {
		m.deletedAt = now
	}
	if m.stage != granted {
		if current == nil || current.Deleting { // deleted without the drain
			m.setStage(granted, now)
		}
		return
	}
	m.findReplacement(now, v, assigned)
	if m.Replacement == nil && m.Deleted() && now.Sub(m.deletedAt) >= t.Replacement {
		m.noReplacement = true
	}
	r := m.Replacement
	switch {
	case r == nil || r.NodeName == "" || r.Ready:
		m.placedAt, m.readyTimedOut = time.Time{}, false
	case m.placedAt.IsZero():
		m.placedAt = now
	case now.Sub(m.placedAt) >= t.Ready:
		m.readyTimedOut = true
	}
}

// findReplacement finds the replacement: the oldest pod of the owner that did not exist before
// the eviction. While it is unscheduled, an equal sibling that gets scheduled takes its place,
// except in a StatefulSet.
func (m *Move) findReplacement(now time.Time, v *View, assigned map[string]bool) {
	if !m.expectsReplacement() || m.existing == nil {
		return
	}
	if r := m.Replacement; r != nil {
		current := v.Pod(r.UID)
		switch {
		case current == nil || current.Deleting: // the replacement terminates; the owner creates another
			m.Replacement = nil
			m.existing[r.UID] = true
			if m.Deleted() {
				m.deletedAt = now
			}
		case current.NodeName != "" || m.Pod.Owner.Kind == "StatefulSet":
			m.Replacement = current
			return
		default:
			m.Replacement = current
		}
	}
	for _, p := range v.OwnedBy(m.Pod.Owner) {
		if m.existing[p.UID] || assigned[p.UID] || p.Deleting || m.Replacement != nil && p.NodeName == "" {
			continue
		}
		if _, ok := m.existing[p.UID]; ok && (p.NodeName == "" || m.Pod.Owner.Kind == "StatefulSet") {
			continue // it was pending before
		}
		if m.Replacement != nil {
			delete(assigned, m.Replacement.UID)
		}
		m.Replacement = p
		assigned[p.UID] = true
		if p.NodeName != "" {
			return
		}
	}
}

func (m *Move) setStage(s stage, now time.Time) { m.stage, m.since = s, now }

// apiServerBlock returns the block of the last refusal.
func (m *Move) apiServerBlock() *Block {
	return &Block{Kind: ByAPIServer, Reason: m.refusal, Permanent: m.refusedPermanently}
}

// busy reports whether the workload waits for the move: its replacement is missing or not
// Ready, or it terminates and blocks siblings.
func (m *Move) busy() bool {
	if m.stage == waiting {
		return false
	}
	if m.alreadyTerminating() {
		return m.blocksSiblings
	}
	if m.stage == requested || !m.Deleted() {
		return true
	}
	return m.expectsReplacement() && m.existing != nil && (m.Replacement == nil || !m.Replacement.Ready)
}

// complete reports whether the round no longer waits for the move.
func (m *Move) complete() bool {
	if !m.busy() {
		return true
	}
	r := m.Replacement
	return m.stage == granted && m.Deleted() && r != nil && (r.NodeName == "" || m.readyTimedOut)
}
