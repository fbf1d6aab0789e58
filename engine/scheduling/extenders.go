package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// extenderCall is a call to extenders that has no outcome yet.
type extenderCall struct {
	attempt     queue.QueuedPodInfo
	record      *decision.Record
	nodes       []profiles.NodeScore // for CallExtenders
	summary     *decision.Summary    // for CallPreemptionExtenders
	withoutHold bool                 // an extender refused the reserved node: record ignores the Hold
}

// scheduleWithExtenders schedules a pod that extenders filter: first by the reference evaluator, then by the
// extenders' answers. withoutHold ignores the pod's Holds.
func (m *Machine) scheduleWithExtenders(now time.Time, info queue.QueuedPodInfo, pod *model.Pod, placer profiles.Explainer, withoutHold bool) {
	rec := placer.Explain(podForEvaluation(pod, withoutHold))
	if rec.Outcome != decision.Scheduled {
		m.concludeRecord(now, info, pod, rec, withoutHold)
		return
	}
	if !m.profiles[pod.Spec.SchedulerName].CallsExtenders(pod) { // only preemption extenders are interested in the pod
		m.assumeAndBind(now, info, pod, rec.Choice)
		return
	}
	var nodes []profiles.NodeScore
	for i := range rec.Nodes {
		if n := &rec.Nodes[i]; n.Verdict.IsSuccess() {
			nodes = append(nodes, profiles.NodeScore{Node: n.Name, Score: n.Total})
		}
	}
	m.callExtenders(now, pod, &extenderCall{attempt: info, record: rec, nodes: nodes, withoutHold: withoutHold}, func(id uint64) Effect { return CallExtenders{ID: id, Pod: pod, Nodes: nodes} })
}

// podForEvaluation returns the pod to evaluate, optionally as if it had no Holds.
func podForEvaluation(pod *model.Pod, withoutHold bool) *model.Pod {
	if !withoutHold {
		return pod
	}
	copied := *pod // created before any Hold, so no reservation applies to it
	copied.Created = time.Time{}
	return &copied
}

// callExtenders starts a call. Nothing is assumed until its outcome arrives.
func (m *Machine) callExtenders(now time.Time, pod *model.Pod, call *extenderCall, e func(uint64) Effect) {
	a := &attempt{uid: pod.UID, number: call.attempt.Attempts, firstQueued: call.attempt.FirstEnqueued, extenderCall: call}
	m.attempts[pod.UID] = a
	m.setStage(a, callingExtenders, m.emit(e), now.Add(m.cfg.ExtenderTimeout))
}

// handleExtenderOutcome continues the attempt with the extenders' answer.
func (m *Machine) handleExtenderOutcome(now time.Time, a *attempt, o Outcome) {
	call, pod := a.extenderCall, m.state.Pod(a.uid)
	placer, ok := m.placers[pod.Spec.SchedulerName].(profiles.Explainer)
	m.endAttempt(a.uid)
	switch {
	case o.Result != Done || !ok:
		m.requeueWithError(now, pod, a.number, "calling extenders: "+o.Reason)
		m.requeue(now, pod)
	case call.summary != nil:
		m.handleExtenderVictims(now, call, pod, placer, o.Candidates)
	case o.ExtenderResult == nil:
		m.requeueWithError(now, pod, a.number, "calling extenders: no answer")
		m.requeue(now, pod)
	default:
		m.handleExtenderNodes(now, call, pod, placer, o.ExtenderResult)
	}
}

// handleExtenderNodes selects the best of the nodes that the extenders returned. If that node no
// longer fits, the attempt starts again.
func (m *Machine) handleExtenderNodes(now time.Time, call *extenderCall, pod *model.Pod, placer profiles.Explainer, answer *ExtenderResult) {
	var remaining []profiles.NodeScore
	for _, n := range call.nodes {
		if i := slices.IndexFunc(answer.Nodes, func(t profiles.NodeScore) bool { return t.Node == n.Node }); i >= 0 {
			remaining = append(remaining, profiles.NodeScore{Node: n.Node, Score: n.Score + answer.Nodes[i].Score})
		}
	}
	if len(remaining) == 0 {
		m.handleNoExtenderNodes(now, call, pod, placer, answer.FailedNodes)
		return
	}
	node := placer.SelectHost(pod, remaining)
	if !placer.Fits(pod, node) {
		m.scheduleWithExtenders(now, call.attempt, pod, placer, false)
		return
	}
	m.assumeAndBind(now, call.attempt, pod, node)
}

// handleNoExtenderNodes handles a refusal of all nodes. If the extenders saw only the nominated or the
// reserved node, it schedules the pod again without the nomination or the reservation.
func (m *Machine) handleNoExtenderNodes(now time.Time, call *extenderCall, pod *model.Pod, placer profiles.Explainer, failed []FailedNode) {
	if call.record.NominatedFirst && pod.NominatedNodeName != "" {
		m.clearNomination(now, pod)
		m.scheduleWithExtenders(now, call.attempt, m.state.Pod(pod.UID), placer, false)
		return
	}
	if call.record.ReservedFirst {
		m.scheduleWithExtenders(now, call.attempt, pod, placer, true)
		return
	}
	rec := *call.record
	rec.Outcome, rec.Choice, rec.Top, rec.Nodes = decision.Infeasible, "", nil, slices.Clone(rec.Nodes)
	for i := range rec.Nodes {
		if n := &rec.Nodes[i]; n.Verdict.IsSuccess() {
			n.Verdict = extenderVerdict(n.Name, failed)
			rec.UnschedulablePlugins = rec.UnschedulablePlugins.With(n.Verdict.Plugin)
		}
	}
	m.concludeRecord(now, call.attempt, pod, &rec, call.withoutHold)
}

// extenderVerdict returns the verdict for a node that an extender refused. No plugin rejected the
// node, so evicting pods cannot help. Preemption therefore skips the node; kube-scheduler tries it
// and finds no victims.
func extenderVerdict(node string, failed []FailedNode) decision.Verdict {
	v := decision.Verdict{Plugin: decision.NoPlugin, Code: decision.UnschedulableAndUnresolvable}
	text := "node(s) were refused by an extender"
	for _, f := range failed {
		if f.Node == node {
			text = f.Reason
		}
	}
	v.Reasons = []decision.Reason{{Kind: decision.ReasonText, Subject: text}}
	return v
}

// concludeRecord ends an attempt whose record is not Scheduled.
func (m *Machine) concludeRecord(now time.Time, info queue.QueuedPodInfo, pod *model.Pod, rec *decision.Record, withoutHold bool) {
	s := decision.Summarize(rec, m.state.NumNodes())
	if s.Outcome != decision.Infeasible {
		m.handleSchedulingFailure(now, info, pod, s)
		return
	}
	m.handleInfeasible(now, info, pod, s, rec, withoutHold)
}

// handleExtenderVictims selects one of the candidates that the extenders returned. If the pod now
// fits a node, or the choice is no longer valid, the attempt starts again.
func (m *Machine) handleExtenderVictims(now time.Time, call *extenderCall, pod *model.Pod, placer profiles.Explainer, remaining []profiles.Candidate) {
	p := placer.SelectCandidate(pod, remaining)
	if p.Outcome == decision.PreemptionNominated && !m.isChoiceValid(p, call, pod, placer) {
		m.scheduleWithExtenders(now, call.attempt, pod, placer, false)
		return
	}
	if p.Outcome != decision.PreemptionNominated {
		p.ReasonCounts = call.summary.Preemption.ReasonCounts
	}
	call.summary.Preemption = p
	m.requeueUnschedulable(now, call.attempt, pod, call.summary)
}

// mergeExtenderRefusals applies the extenders' refusals in an old record to a new record of the
// same pod.
func mergeExtenderRefusals(old, current *decision.Record) *decision.Record {
	refused := map[string]decision.Verdict{}
	for i := range old.Nodes {
		if n := &old.Nodes[i]; n.Verdict.Plugin == decision.NoPlugin && !n.Verdict.IsSuccess() {
			refused[n.Name] = n.Verdict
		}
	}
	if current.Outcome != decision.Scheduled || len(refused) == 0 {
		return current
	}
	rec := *current
	rec.Outcome, rec.Choice, rec.Top = decision.Infeasible, "", nil
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if v, ok := refused[n.Name]; ok && n.Verdict.IsSuccess() {
			n.Verdict = v
		} else if n.Verdict.IsSuccess() {
			return current
		}
	}
	return &rec
}

// isChoiceValid reports whether a preemption chosen from an earlier record is still valid. The pod
// must be infeasible, the node a candidate, and every victim on the node and not finished.
func (m *Machine) isChoiceValid(p *decision.Preemption, call *extenderCall, pod *model.Pod, placer profiles.Explainer) bool {
	rec := mergeExtenderRefusals(call.record, placer.Explain(podForEvaluation(pod, call.withoutHold)))
	if rec.Outcome != decision.Infeasible {
		return false
	}
	candidates, _ := m.findCandidates(pod, placer, rec)
	return slices.ContainsFunc(candidates, func(c profiles.Candidate) bool { return c.Node == p.Node }) &&
		!slices.ContainsFunc(p.Victims, func(v *model.Pod) bool {
			victim := m.state.Pod(v.UID)
			return victim == nil || victim.NodeName != p.Node || victim.Finished()
		})
}
