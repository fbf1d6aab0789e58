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
	Retry   bool      // the same was asked before and is not known to have failed
}

// ReportUnschedulable asks for it to be written down that a pod has no node and why: the
// condition PodScheduled=False and an event. Summary.Outcome is Infeasible or Errored.
type ReportUnschedulable struct {
	ID      uint64
	Pod     *model.Pod
	Summary *decision.Summary
	Attempt int
	Retry   bool // the same was asked before and may have been done
}

// ReportGated asks for it to be written down that a pod is held back before the queue.
type ReportGated struct {
	ID      uint64
	Pod     *model.Pod
	Verdict *decision.Verdict
}

// RefreshPod asks how a pod is now, read from the API itself and not from a cache.
type RefreshPod struct {
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
	Choice int  // 1 for the first choice; 2 after a refusal
	Retry  bool // the same was asked before and may have been done in part
}

// ClearNomination asks for a pod's nomination to be taken back.
type ClearNomination struct {
	ID  uint64
	Pod *model.Pod
}

// BindVolumes asks for the claims of an assumed pod to be given to their volumes, or to a
// provisioner for the node. Done means written; that the claims are bound shows in
// later events.
type BindVolumes struct {
	ID   uint64
	Pod  *model.Pod
	Node string
	Plan *model.VolumePlan
}

// CallExtenders puts the nodes that fit to the extenders that are interested in the pod.
// Its Outcome carries an Answer.
type CallExtenders struct {
	ID    uint64
	Pod   *model.Pod
	Nodes []NodeScore // by name
}

// NodeScore is a node with its score.
type NodeScore struct {
	Node  string
	Score int64
}

// CallPreemptionExtenders puts the candidates of a preemption to the extenders that preempt.
// Its Outcome carries Candidates: those that are left, with the victims that are left.
type CallPreemptionExtenders struct {
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

// ExtenderResult is what extenders make of the nodes that they were asked about.
type ExtenderResult struct {
	Nodes       []NodeScore  // the survivors with what is to be added to their totals, by name
	FailedNodes []FailedNode // the others
}

// FailedNode is a node that an extender refused.
type FailedNode struct {
	Node, Extender, Reason string
	Unresolvable           bool // preemption cannot help
}

// MissedWakeup asks for it to be told that a pod was found to fit a node although nothing
// had woken it, which is a fault of ours. It is tried now. No Outcome is waited for.
type MissedWakeup struct {
	ID    uint64
	Pod   *model.Pod
	Node  string
	Rules decision.PluginSet // by which it was thought to be rejected
}

// ReportBound tells that a pod has the node that a Bind asked for, where the answer to the
// attempt's first Bind does not say so: it was lost, and the watch, a Look or the answer to a later
// one tells. It comes once, and no Outcome is waited for. The Bind in it has the Bound's own ID.
type ReportBound struct {
	Bind
	Duration time.Duration // since the first Bind
}

// EffectID is the id that the Outcome carries.
func (e MissedWakeup) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e Bind) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e ReportUnschedulable) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e ReportGated) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e RefreshPod) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e Preempt) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e ClearNomination) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e BindVolumes) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e CallExtenders) EffectID() uint64 { return e.ID }

// EffectID is the id that the Outcome carries.
func (e CallPreemptionExtenders) EffectID() uint64 { return e.ID }
