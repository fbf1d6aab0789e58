package planning

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/fastpath"
)

// maxTopEvaluations is the maximum number of candidates that a plan evaluates without Holds. Each
// takes two runs of the reference evaluator, some milliseconds with thousands of nodes.
const maxTopEvaluations = 500

// HoldCause is the cause of the Holds that the descheduler creates.
const HoldCause = "Descheduling"

// formerHoldCause is the cause of the Holds of the previous release.
const formerHoldCause = "Rebalance"

// IsHoldCause reports whether the descheduler creates, or created in the previous release, Holds of a cause.
func IsHoldCause(cause string) bool { return cause == HoldCause || cause == formerHoldCause }

// AvoidHoldName returns the name of the Avoid Hold that records how often moves of an owner's
// pods off a node failed. It differs from the name for pods that the node evicted
// (cluster.HoldName), so that both can exist.
func AvoidHoldName(ownerUID, node string) string {
	return cluster.HoldName(ownerUID+"\x00"+formerHoldCause, node, model.Avoid) // unchanged: the Holds of the previous release count, too
}

// checkPod returns why the pod must not be moved; the message is empty if it may be.
func (p *Planner) checkPod(m *Move) (RefusalReason, string) {
	current := p.state.Pod(m.Pod.UID)
	switch {
	case p.moved[m.Pod.UID]:
		return PodUnavailable, "it is already planned to move"
	case current == nil || current.NodeName != m.From:
		return PodUnavailable, "it is no longer on node " + m.From
	case current.Deleting:
		return PodUnavailable, "it is terminating"
	}
	return 0, ""
}

// checkReplacement returns why the replacement of the pod is not evaluated. The possible reasons:
// no controller would create it on another node, its scheduler is unknown, or such moves back off.
func (p *Planner) checkReplacement(m *Move) (RefusalReason, string) {
	pod := m.Pod
	if pod.Owner.UID == "" {
		return NoController, "it has no controller that would replace it"
	}
	if pod.Owner.Kind == "DaemonSet" {
		return DaemonSetPod, "DaemonSet " + pod.Owner.Name + " would put its replacement on the same node"
	}
	if p.o.Profiles[pod.Spec.SchedulerName] == nil {
		return UnknownScheduler, fmt.Sprintf("the profile of its scheduler %q is not known: pass its configuration, or exclude its pods in the policy", pod.Spec.SchedulerName)
	}
	if until, reason, ok := p.o.Backoff.ActiveFor(p.o.Now, m); ok {
		return BackingOff, reason + "; backing off until " + until.UTC().Format(time.RFC3339)
	}
	if h, exists := p.state.Hold(pod.Namespace, AvoidHoldName(pod.Owner.UID, m.From)); exists && h.Until.After(p.o.Now) {
		return BackingOff, fmt.Sprintf("a pod of %s %s returned to the node before; backing off until %s (Hold %s)",
			pod.Owner.Kind, pod.Owner.Name, h.Until.UTC().Format(time.RFC3339), h.Name)
	}
	return 0, ""
}

// MoveKey returns the backoff key of a move.
func MoveKey(m *Move) BackoffKey {
	return BackoffKey{Owner: m.Pod.Owner.UID, From: m.From, Strategy: m.Strategy}
}

// WorkloadKey returns the backoff key of all moves of an owner's pods.
func WorkloadKey(m *Move) BackoffKey { return BackoffKey{Owner: m.Pod.Owner.UID} }

// chooseNode finds the node on which the scheduler would put the replacement if the pod did not exist.
// It sets the target and the gain of the move.
func (p *Planner) chooseNode(m *Move, c *descheduling.Candidate) (RefusalReason, string) {
	replacement := ExpectedReplacement(m.Pod, "")
	s := &p.summary
	p.engineFor(m.Pod).Decide(replacement, s)
	switch {
	case s.Outcome != decision.Scheduled:
		return NoOtherNode, "its replacement would not fit on any node"
	case s.Choice == m.From && s.Feasible == 1:
		return NoOtherNode, "its replacement would not fit on any other node"
	case s.Choice == m.From:
		return WouldReturn, fmt.Sprintf("the scheduler would put its replacement back on %s, with a score of %d, the best of %d nodes", m.From, s.Total, s.Feasible)
	}
	m.To = s.Choice
	targets := []string{m.To}
	if m.Mode == WithoutHolds {
		if p.topEvaluations++; p.topEvaluations > maxTopEvaluations {
			return PlanFull, fmt.Sprintf("nodes cannot be reserved, so at most %d candidates are evaluated per plan", maxTopEvaluations)
		}
		if m.TopNodes, _ = TopNodes(p.forkFor(m.Pod), p.o.Profiles[m.Pod.Spec.SchedulerName], p.o.Seed, m.Pod); slices.Contains(m.TopNodes, m.From) {
			return WouldReturn, fmt.Sprintf("the scheduler might put its replacement back on %s, which scores like %s and cannot be reserved", m.From, m.To)
		}
		targets = m.TopNodes
	}
	return p.checkGain(m, c, targets)
}

// checkGain checks that the strategy's goal improves on every node that the replacement may
// get.
func (p *Planner) checkGain(m *Move, c *descheduling.Candidate, targets []string) (RefusalReason, string) {
	for _, name := range targets {
		to := p.nodes[name]
		if to == nil {
			return NoGain, fmt.Sprintf("the scheduler would put its replacement on %s, which is not selected by the policy", name)
		}
		if c.Gain == nil {
			continue
		}
		g := c.Gain(to)
		if name == m.To {
			m.Gain = g
		}
		if !g.Improves() {
			return NoGain, fmt.Sprintf("on %s, where the scheduler would put its replacement, %s would not improve: %d before, %d after", name, g.Metric, g.Before, g.After)
		}
	}
	return 0, ""
}

// engineFor returns the placement engine of the pod's scheduler on its fork.
func (p *Planner) engineFor(pod *model.Pod) *fastpath.Engine {
	name := pod.Spec.SchedulerName
	e := p.engines[name]
	if e == nil {
		e = fastpath.NewEngine(p.forkFor(pod), p.o.Profiles[name], p.o.Seed)
		p.engines[name] = e
	}
	return e
}
