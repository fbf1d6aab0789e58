package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/queue"
)

// Explainer is a Placer that can say all about a decision, for pods that extenders have
// a say in. The placers of profiles with extenders must be Surveyors.
type Explainer interface {
	// Explain says all about the decision for a pod.
	Explain(pod *model.Pod) *decision.Record
	// Fits says whether the pod fits on the node as things are now.
	Fits(pod *model.Pod, node string) bool
	// SelectHost is the node with the most points.
	SelectHost(pod *model.Pod, nodes []NodeScore) string
	// FindCandidates are the nodes that preemption could make fit, given the record of a
	// pod that is Infeasible, and what preemption would choose among them.
	FindCandidates(pod *model.Pod, rec *decision.Record) ([]Candidate, *decision.Preemption)
	// SelectCandidate chooses among candidates whose victims may have been changed.
	SelectCandidate(pod *model.Pod, candidates []Candidate) *decision.Preemption
}

// extenderCall is what was put to extenders for an attempt.
type extenderCall struct {
	attempt     queue.QueuedPodInfo
	record      *decision.Record
	nodes       []NodeScore       // in an Ask
	summary     *decision.Summary // in an AskVictims
	withoutHold bool              // the node that is held for the pod was refused: rec is that of a pod for which none is
}

// scheduleWithExtenders decides about a pod that extenders have a say in: by the plain path, and then by
// what they answer.
func (m *Machine) scheduleWithExtenders(now time.Time, a queue.QueuedPodInfo, pod *model.Pod, placer Explainer) {
	m.scheduleWithExtendersOpt(now, a, pod, placer, false)
}

// scheduleWithExtendersOpt is survey; passed: without the node that is held for the pod.
func (m *Machine) scheduleWithExtendersOpt(now time.Time, a queue.QueuedPodInfo, pod *model.Pod, placer Explainer, withoutHold bool) {
	rec := placer.Explain(podForEvaluation(pod, withoutHold))
	if rec.Outcome != decision.Scheduled {
		m.concludeRecord(now, a, pod, rec, withoutHold)
		return
	}
	if !m.profiles[pod.Spec.SchedulerName].callsExtenders(pod) { // they have a say in its victims alone
		m.assumeAndBind(now, a, pod, rec.Choice)
		return
	}
	var nodes []NodeScore
	for i := range rec.Nodes {
		if n := &rec.Nodes[i]; n.Verdict.IsSuccess() {
			nodes = append(nodes, NodeScore{Node: n.Name, Score: n.Total})
		}
	}
	m.callExtenders(now, pod, &extenderCall{attempt: a, record: rec, nodes: nodes, withoutHold: withoutHold}, func(id uint64) Effect { return CallExtenders{ID: id, Pod: pod, Nodes: nodes} })
}

// podForEvaluation is the form of a pod for the plain path, with or without what is held for it.
func podForEvaluation(pod *model.Pod, withoutHold bool) *model.Pod {
	if !withoutHold {
		return pod
	}
	older := *pod // than any Hold: nobody's replacement
	older.Created = time.Time{}
	return &older
}

// callExtenders puts a question. Nothing is assumed meanwhile.
func (m *Machine) callExtenders(now time.Time, pod *model.Pod, q *extenderCall, e func(uint64) Effect) {
	at := &attempt{uid: pod.UID, number: q.attempt.Attempts, firstQueued: q.attempt.FirstEnqueued, extenderCall: q}
	m.attempts[pod.UID] = at
	m.setStage(at, callingExtenders, m.emit(e), now.Add(m.cfg.ExtenderTimeout))
}

// handleExtenderOutcome takes in what extenders made of a question.
func (m *Machine) handleExtenderOutcome(now time.Time, a *attempt, o Outcome) {
	q, pod := a.extenderCall, m.state.Pod(a.uid)
	placer, ok := m.placers[pod.Spec.SchedulerName].(Explainer)
	m.endAttempt(a.uid)
	switch {
	case o.Result != Done || !ok:
		m.requeueWithError(now, pod, a.number, "asking extenders: "+o.Reason)
		m.requeue(now, pod)
	case q.summary != nil:
		m.handleExtenderVictims(now, q, pod, placer, o.Candidates)
	case o.ExtenderResult == nil:
		m.requeueWithError(now, pod, a.number, "asking extenders: no answer")
	default:
		m.handleExtenderNodes(now, q, pod, placer, o.ExtenderResult)
	}
}

// handleExtenderNodes takes the best of the nodes that extenders left. The cluster has moved on
// meanwhile: a node that does not fit any more begins the attempt again.
func (m *Machine) handleExtenderNodes(now time.Time, q *extenderCall, pod *model.Pod, placer Explainer, answer *ExtenderResult) {
	var left []NodeScore
	for _, n := range q.nodes {
		if i := slices.IndexFunc(answer.Nodes, func(t NodeScore) bool { return t.Node == n.Node }); i >= 0 {
			left = append(left, NodeScore{Node: n.Node, Score: n.Score + answer.Nodes[i].Score})
		}
	}
	if len(left) == 0 {
		m.handleNoExtenderNodes(now, q, pod, placer, answer.FailedNodes)
		return
	}
	node := placer.SelectHost(pod, left)
	if !placer.Fits(pod, node) {
		m.scheduleWithExtenders(now, q.attempt, pod, placer)
		return
	}
	m.assumeAndBind(now, q.attempt, pod, node)
}

// handleNoExtenderNodes takes in that extenders refused all nodes. If it was the nominated one, or one that is held for
// the pod, alone, the others come next.
func (m *Machine) handleNoExtenderNodes(now time.Time, q *extenderCall, pod *model.Pod, placer Explainer, failed []FailedNode) {
	if q.record.NominatedFirst && pod.NominatedNodeName != "" {
		m.clearNomination(now, pod)
		m.scheduleWithExtenders(now, q.attempt, m.state.Pod(pod.UID), placer)
		return
	}
	if q.record.ReservedFirst {
		m.scheduleWithExtendersOpt(now, q.attempt, pod, placer, true)
		return
	}
	rec := *q.record
	rec.Outcome, rec.Choice, rec.Top, rec.Nodes = decision.Infeasible, "", nil, slices.Clone(rec.Nodes)
	for i := range rec.Nodes {
		if n := &rec.Nodes[i]; n.Verdict.IsSuccess() {
			n.Verdict = extenderVerdict(n.Name, failed)
			rec.UnschedulablePlugins = rec.UnschedulablePlugins.With(n.Verdict.Plugin)
		}
	}
	m.concludeRecord(now, q.attempt, pod, &rec, q.withoutHold)
}

// extenderVerdict is an extender's verdict on a node. The rules let the pod onto it with everybody
// staying: that somebody leaves cannot help by the rules, and what else could, only the
// extender knows. So preemption does not try the node, as upstream, where it comes to
// nothing for want of a victim.
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

// concludeRecord ends an attempt by a record, if it is not Scheduled.
func (m *Machine) concludeRecord(now time.Time, a queue.QueuedPodInfo, pod *model.Pod, rec *decision.Record, withoutHold bool) {
	s := placement.Summarize(rec, m.state.NumNodes())
	if s.Outcome != decision.Infeasible {
		m.handleSchedulingFailure(now, a, pod, s)
		return
	}
	m.handleInfeasible(now, a, pod, s, rec, withoutHold)
}

// handleExtenderVictims takes the best of the candidates that extenders left. The cluster has moved on
// meanwhile: when the pod fits somewhere now, or the choice would not be made any more, the attempt begins again.
func (m *Machine) handleExtenderVictims(now time.Time, q *extenderCall, pod *model.Pod, placer Explainer, left []Candidate) {
	p := placer.SelectCandidate(pod, left)
	if p.Outcome == decision.PreemptionNominated && !m.choiceStillValid(p, q, pod, placer) {
		m.scheduleWithExtenders(now, q.attempt, pod, placer)
		return
	}
	if p.Outcome != decision.PreemptionNominated {
		p.ReasonCounts = q.summary.Preemption.ReasonCounts
	}
	q.summary.Preemption = p
	m.requeueUnschedulable(now, q.attempt, pod, q.summary)
}

// mergeExtenderRefusals is what is found now in the place of a record that extenders have changed: a node that one of them
// refused stays refused.
func mergeExtenderRefusals(old, now *decision.Record) *decision.Record {
	refused := map[string]decision.Verdict{}
	for i := range old.Nodes {
		if n := &old.Nodes[i]; n.Verdict.Plugin == decision.NoPlugin && !n.Verdict.IsSuccess() {
			refused[n.Name] = n.Verdict
		}
	}
	if now.Outcome != decision.Scheduled || len(refused) == 0 {
		return now
	}
	rec := *now
	rec.Outcome, rec.Choice, rec.Top = decision.Infeasible, "", nil
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if v, ok := refused[n.Name]; ok && n.Verdict.IsSuccess() {
			n.Verdict = v
		} else if n.Verdict.IsSuccess() {
			return now
		}
	}
	return &rec
}

// choiceStillValid says whether a choice that followed from a record can still be made: the pod fits nowhere,
// the node is a candidate, and the victims are there.
func (m *Machine) choiceStillValid(p *decision.Preemption, q *extenderCall, pod *model.Pod, placer Explainer) bool {
	rec := mergeExtenderRefusals(q.record, placer.Explain(podForEvaluation(pod, q.withoutHold)))
	if rec.Outcome != decision.Infeasible {
		return false
	}
	candidates, _ := m.findCandidates(pod, placer, rec)
	return slices.ContainsFunc(candidates, func(c Candidate) bool { return c.Node == p.Node }) &&
		!slices.ContainsFunc(p.Victims, func(v *model.Pod) bool {
			is := m.state.Pod(v.UID)
			return is == nil || is.NodeName != p.Node || is.Finished()
		})
}
