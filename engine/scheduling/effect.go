package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Effect is something to do: Bind, Reject, Hold or Look.
type Effect interface{ EffectID() uint64 }

// Bind asks for a pod to be bound to a node.
type Bind struct {
	ID      uint64
	Pod     *model.Pod
	Node    string
	Attempt int       // 1 for the pod's first
	First   time.Time // when the pod was first queued
	Again   bool      // the same was asked before and is not known to have failed
}

// Reject asks for it to be written down that a pod has no node and why: the
// condition PodScheduled=False and an event. Summary.Outcome is Infeasible or Errored.
type Reject struct {
	ID      uint64
	Pod     *model.Pod
	Summary *decision.Summary
	Attempt int
	Again   bool // the same was asked before and may have been done
}

// Hold asks for it to be written down that a pod is held back before the queue.
type Hold struct {
	ID      uint64
	Pod     *model.Pod
	Verdict *decision.Verdict
}

// Look asks how a pod is now, read from the API itself and not from a cache.
type Look struct {
	ID  uint64
	Pod *model.Pod
}

// EffectID is the id that the Outcome carries.
func (e Bind) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e Reject) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e Hold) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e Look) EffectID() uint64 { return e.ID }
