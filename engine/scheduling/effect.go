package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Effect is something to do: Bind, Reject, Hold, Look, Preempt, Unnominate,
// Prepare, Ask, AskVictims, Missed or Bound.
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

// Preempt asks for a pod to be nominated to a node, for the budgets to be
// debited, and for the victims to be driven out. It is idempotent. Refused means that a
// budget did not allow what was to be paid, and the Outcome says which, or that something else does not
// allow it; nothing was deleted then.
type Preempt struct {
	ID     uint64
	Pod    *model.Pod
	Plan   *decision.Preemption
	Number int  // 1 for the first choice; 2 after a refusal
	Again  bool // the same was asked before and may have been done in part
}

// Unnominate asks for a pod's nomination to be taken back.
type Unnominate struct {
	ID  uint64
	Pod *model.Pod
}

// Prepare asks for the claims of an assumed pod to be given to their volumes, or to a
// provisioner for the node. Done means written; that the claims are bound shows in
// later events.
type Prepare struct {
	ID   uint64
	Pod  *model.Pod
	Node string
	Plan *model.VolumePlan
}

// Ask puts the nodes that fit to the extenders that are interested in the pod.
// Its Outcome carries an Answer.
type Ask struct {
	ID    uint64
	Pod   *model.Pod
	Nodes []Total // by name
}

// Total is a node with its score.
type Total struct {
	Node   string
	Points int64
}

// AskVictims puts the candidates of a preemption to the extenders that preempt.
// Its Outcome carries Candidates: those that are left, with the victims that are left.
type AskVictims struct {
	ID         uint64
	Pod        *model.Pod
	Candidates []Candidate // by node name
}

// Candidate is a node that preemption could make fit.
type Candidate struct {
	Node       string
	Victims    []*model.Pod
	Violations int
}

// Answer is what extenders make of the nodes that they were asked about.
type Answer struct {
	Nodes  []Total   // the survivors with what is to be added to their totals, by name
	Failed []Failure // the others
}

// Failure is a node that an extender refused.
type Failure struct {
	Node, Extender, Reason string
	Unresolvable           bool // preemption cannot help
}

// Missed asks for it to be told that a pod was found to fit a node although nothing
// had woken it, which is a fault of ours. It is tried now. No Outcome is waited for.
type Missed struct {
	ID    uint64
	Pod   *model.Pod
	Node  string
	Rules decision.RuleSet // by which it was thought to be rejected
}

// Bound tells that a pod has the node that a Bind asked for, where the answer to the
// attempt's first Bind does not say so: it was lost, and the watch, a Look or the answer to a later
// one tells. It comes once, and no Outcome is waited for. The Bind in it has the Bound's own ID.
type Bound struct {
	Bind
	Took time.Duration // since the first Bind
}

// EffectID is the id that the Outcome carries.
func (e Missed) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e Bind) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e Reject) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e Hold) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e Look) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e Preempt) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e Unnominate) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e Prepare) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e Ask) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e AskVictims) EffectID() uint64 { return e.ID }
