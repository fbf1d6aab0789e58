package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// Effect is a request to the caller: Bind, ReportUnschedulable, ReportGated, RefreshPod, Preempt,
// ClearNomination, BindVolumes, CallExtenders, CallPreemptionExtenders, MissedWakeup, ReportBound or
// ReportDeferredResize.
type Effect interface{ EffectID() uint64 }

// Bind binds a pod to a node.
type Bind struct {
	ID      uint64
	Pod     *model.Pod
	Node    string
	Attempt int       // 1 for the pod's first attempt
	First   time.Time // when the pod first entered the queue
	Retry   bool      // an earlier Bind may have succeeded
}

// ReportUnschedulable reports a pod as unschedulable: condition PodScheduled=False and an event.
// Summary.Outcome is Infeasible or Errored.
type ReportUnschedulable struct {
	ID      uint64
	Pod     *model.Pod
	Summary *decision.Summary
	Attempt int  // number of the attempt, from 1; 0: the report is not about an attempt
	Retry   bool // an earlier report may have been written
}

// ReportGated reports a pod that a PreEnqueue plugin gates.
type ReportGated struct {
	ID      uint64
	Pod     *model.Pod
	Verdict *decision.Verdict
}

// RefreshPod reads a pod from the API, not from a cache.
type RefreshPod struct {
	ID  uint64
	Pod *model.Pod
}

// Preempt nominates a pod to a node, debits the budgets and evicts the victims. It is idempotent.
// If it is Refused, no pod was deleted; the Outcome names the budgets that did not allow it, if
// any.
type Preempt struct {
	ID     uint64
	Pod    *model.Pod
	Plan   *decision.Preemption
	Choice int  // 1 for the first choice; 2 after a refusal
	Retry  bool // an earlier Preempt may have been executed in part
	// Resize is set if the pod runs on Plan.Node and waits for a resize. It is not nominated.
	Resize bool
}

// ReportDeferredResize reports why no pod is preempted for a deferred resize: an event. It has no Outcome.
type ReportDeferredResize struct {
	ID      uint64
	Pod     *model.Pod
	Summary *decision.Summary
}

// ClearNomination clears a pod's status.nominatedNodeName.
type ClearNomination struct {
	ID  uint64
	Pod *model.Pod
}

// BindVolumes binds the claims of an assumed pod to volumes, or has a provisioner create volumes
// for the node. Done means that the objects are written; later events show the binding.
type BindVolumes struct {
	ID   uint64
	Pod  *model.Pod
	Node string
	Plan *model.VolumePlan
}

// CallExtenders offers the feasible nodes to the extenders that are interested in the pod. Its
// Outcome has an ExtenderResult.
type CallExtenders struct {
	ID    uint64
	Pod   *model.Pod
	Nodes []profiles.NodeScore // sorted by name
}

// CallPreemptionExtenders offers preemption candidates to the extenders that support preemption.
// Its Outcome has the remaining Candidates with their remaining victims.
type CallPreemptionExtenders struct {
	ID         uint64
	Pod        *model.Pod
	Candidates []profiles.Candidate // sorted by node name
}

// ExtenderResult is the extenders' answer to CallExtenders.
type ExtenderResult struct {
	Nodes       []profiles.NodeScore // the remaining nodes with the scores to add, sorted by name
	FailedNodes []FailedNode         // the other nodes
}

// FailedNode is a node that an extender refused.
type FailedNode struct {
	Node, Extender, Reason string // Extender is the URL
	Unresolvable           bool   // preemption cannot help
}

// MissedWakeup reports a pod that fits a node although no event requeued it. That is a bug. The pod
// is activated. It has no Outcome.
type MissedWakeup struct {
	ID         uint64
	Pod        *model.Pod
	Node       string
	RejectedBy decision.PluginSet // the plugins that had rejected the pod
}

// ReportBound reports that a pod has the node of a Bind, if the outcome of the attempt's first Bind
// does not. That outcome was lost, and the watch, a refresh or a later Bind shows that the pod is
// bound. It is emitted once and has no Outcome. The embedded Bind has the ReportBound's ID.
type ReportBound struct {
	Bind
	Duration time.Duration // since the first Bind
}

// EffectID returns the ID of the effect, which has no Outcome.
func (e ReportDeferredResize) EffectID() uint64 { return e.ID }

// EffectID returns the ID of the effect, which has no Outcome.
func (e MissedWakeup) EffectID() uint64 { return e.ID }

// EffectID returns the ID that the Outcome carries.
func (e Bind) EffectID() uint64 { return e.ID }

// EffectID returns the ID that the Outcome carries.
func (e ReportUnschedulable) EffectID() uint64 { return e.ID }

// EffectID returns the ID that the Outcome carries.
func (e ReportGated) EffectID() uint64 { return e.ID }

// EffectID returns the ID that the Outcome carries.
func (e RefreshPod) EffectID() uint64 { return e.ID }

// EffectID returns the ID that the Outcome carries.
func (e Preempt) EffectID() uint64 { return e.ID }

// EffectID returns the ID that the Outcome carries.
func (e ClearNomination) EffectID() uint64 { return e.ID }

// EffectID returns the ID that the Outcome carries.
func (e BindVolumes) EffectID() uint64 { return e.ID }

// EffectID returns the ID that the Outcome carries.
func (e CallExtenders) EffectID() uint64 { return e.ID }

// EffectID returns the ID that the Outcome carries.
func (e CallPreemptionExtenders) EffectID() uint64 { return e.ID }
