package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/queue"
)

// Surveyor is a Placer that can say all about a decision, for pods that extenders have
// a say in. The placers of profiles with extenders must be Surveyors.
type Surveyor interface {
	// Survey says all about the decision for a pod.
	Survey(pod *model.Pod) *decision.Record
	// Fits says whether the pod fits on the node as things are now.
	Fits(pod *model.Pod, node string) bool
	// Best is the node with the most points.
	Best(pod *model.Pod, nodes []Total) string
	// Candidates are the nodes that preemption could make fit, given the record of a
	// pod that is Infeasible, and what preemption would choose among them.
	Candidates(pod *model.Pod, rec *decision.Record) ([]Candidate, *decision.Preemption)
	// Among chooses among candidates whose victims may have been changed.
	Among(pod *model.Pod, candidates []Candidate) *decision.Preemption
}

// asked is what was put to extenders for an attempt.
type asked struct {
	queue   queue.Attempt
	rec     *decision.Record
	nodes   []Total           // in an Ask
	summary *decision.Summary // in an AskVictims
	passed  bool              // the node that is held for the pod was refused: rec is that of a pod for which none is
}

// survey decides about a pod that extenders have a say in: by the plain path, and then by
// what they answer.
func (m *Machine) survey(now time.Time, a queue.Attempt, pod *model.Pod, placer Surveyor) {
	m.surveyPast(now, a, pod, placer, false)
}

// surveyPast is survey; passed: without the node that is held for the pod.
func (m *Machine) surveyPast(now time.Time, a queue.Attempt, pod *model.Pod, placer Surveyor, passed bool) {
	rec := placer.Survey(passing(pod, passed))
	if rec.Outcome != decision.Scheduled {
		m.surveyed(now, a, pod, rec, passed)
		return
	}
	if !m.profiles[pod.Spec.SchedulerName].asks(pod) { // they have a say in its victims alone
		m.place(now, a, pod, rec.Choice)
		return
	}
	var nodes []Total
	for i := range rec.Nodes {
		if n := &rec.Nodes[i]; n.Verdict.Fits() {
			nodes = append(nodes, Total{Node: n.Name, Points: n.Total})
		}
	}
	m.ask(now, pod, &asked{queue: a, rec: rec, nodes: nodes, passed: passed}, func(id uint64) Effect { return Ask{ID: id, Pod: pod, Nodes: nodes} })
}

// passing is the form of a pod for the plain path, with or without what is held for it.
func passing(pod *model.Pod, passed bool) *model.Pod {
	if !passed {
		return pod
	}
	older := *pod // than any Hold: nobody's replacement
	older.Created = time.Time{}
	return &older
}

// ask puts a question. Nothing is assumed meanwhile.
func (m *Machine) ask(now time.Time, pod *model.Pod, q *asked, e func(uint64) Effect) {
	at := &attempt{uid: pod.UID, number: q.queue.Number, first: q.queue.First, asked: q}
	m.byPod[pod.UID] = at
	m.await(at, asking, m.emit(e), now.Add(m.cfg.AskTimeout))
}

// answered takes in what extenders made of a question.
func (m *Machine) answered(now time.Time, a *attempt, o Outcome) {
	q, pod := a.asked, m.state.Pod(a.uid)
	placer, ok := m.placers[pod.Spec.SchedulerName].(Surveyor)
	m.over(a.uid)
	switch {
	case o.Result != Done || !ok:
		m.fail(now, pod, a.number, "asking extenders: "+o.Why)
		m.requeue(now, pod)
	case q.summary != nil:
		m.victimsAnswered(now, q, pod, placer, o.Candidates)
	case o.Answer == nil:
		m.fail(now, pod, a.number, "asking extenders: no answer")
	default:
		m.nodesAnswered(now, q, pod, placer, o.Answer)
	}
}

// nodesAnswered takes the best of the nodes that extenders left. The cluster has moved on
// meanwhile: a node that does not fit any more begins the attempt again.
func (m *Machine) nodesAnswered(now time.Time, q *asked, pod *model.Pod, placer Surveyor, answer *Answer) {
	var left []Total
	for _, n := range q.nodes {
		if i := slices.IndexFunc(answer.Nodes, func(t Total) bool { return t.Node == n.Node }); i >= 0 {
			left = append(left, Total{Node: n.Node, Points: n.Points + answer.Nodes[i].Points})
		}
	}
	if len(left) == 0 {
		m.noneLeft(now, q, pod, placer, answer.Failed)
		return
	}
	node := placer.Best(pod, left)
	if !placer.Fits(pod, node) {
		m.survey(now, q.queue, pod, placer)
		return
	}
	m.place(now, q.queue, pod, node)
}

// noneLeft takes in that extenders refused all nodes. If it was the nominated one, or one that is held for
// the pod, alone, the others come next.
func (m *Machine) noneLeft(now time.Time, q *asked, pod *model.Pod, placer Surveyor, failed []Failure) {
	if q.rec.NominatedFirst && pod.Nominated != "" {
		m.unnominate(now, pod)
		m.survey(now, q.queue, m.state.Pod(pod.UID), placer)
		return
	}
	if q.rec.HeldFirst {
		m.surveyPast(now, q.queue, pod, placer, true)
		return
	}
	rec := *q.rec
	rec.Outcome, rec.Choice, rec.Top, rec.Nodes = decision.Infeasible, "", nil, slices.Clone(rec.Nodes)
	for i := range rec.Nodes {
		if n := &rec.Nodes[i]; n.Verdict.Fits() {
			n.Verdict = refusal(n.Name, failed)
			rec.Rejectors = rec.Rejectors.With(n.Verdict.Rule)
		}
	}
	m.surveyed(now, q.queue, pod, &rec, q.passed)
}

// refusal is an extender's verdict on a node. The rules let the pod onto it with everybody
// staying: that somebody leaves cannot help by the rules, and what else could, only the
// extender knows. So preemption does not try the node, as upstream, where it comes to
// nothing for want of a victim.
func refusal(node string, failed []Failure) decision.Verdict {
	v := decision.Verdict{Rule: decision.NoRule, Code: decision.Unresolvable}
	text := "node(s) were refused by an extender"
	for _, f := range failed {
		if f.Node == node {
			text = f.Reason
		}
	}
	v.Reasons = []decision.Reason{{Why: decision.WhyText, Subject: text}}
	return v
}

// surveyed ends an attempt by a record, if it is not Scheduled.
func (m *Machine) surveyed(now time.Time, a queue.Attempt, pod *model.Pod, rec *decision.Record, passed bool) {
	s := placement.Summarize(rec, m.state.NumNodes())
	if s.Outcome != decision.Infeasible {
		m.conclude(now, a, pod, s)
		return
	}
	m.infeasible(now, a, pod, s, rec, passed)
}

// victimsAnswered takes the best of the candidates that extenders left. The cluster has moved on
// meanwhile: when the pod fits somewhere now, or the choice would not be made any more, the attempt begins again.
func (m *Machine) victimsAnswered(now time.Time, q *asked, pod *model.Pod, placer Surveyor, left []Candidate) {
	p := placer.Among(pod, left)
	if p.Tried == decision.Nominated && !m.stands(p, q, pod, placer) {
		m.survey(now, q.queue, pod, placer)
		return
	}
	if p.Tried != decision.Nominated {
		p.Counts = q.summary.Preemption.Counts
	}
	q.summary.Preemption = p
	m.rejected(now, q.queue, pod, q.summary)
}

// renewed is what is found now in the place of a record that extenders have changed: a node that one of them
// refused stays refused.
func renewed(old, now *decision.Record) *decision.Record {
	refused := map[string]decision.Verdict{}
	for i := range old.Nodes {
		if n := &old.Nodes[i]; n.Verdict.Rule == decision.NoRule && !n.Verdict.Fits() {
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
		if v, ok := refused[n.Name]; ok && n.Verdict.Fits() {
			n.Verdict = v
		} else if n.Verdict.Fits() {
			return now
		}
	}
	return &rec
}

// stands says whether a choice that followed from a record can still be made: the pod fits nowhere,
// the node is a candidate, and the victims are there.
func (m *Machine) stands(p *decision.Preemption, q *asked, pod *model.Pod, placer Surveyor) bool {
	rec := renewed(q.rec, placer.Survey(passing(pod, q.passed)))
	if rec.Outcome != decision.Infeasible {
		return false
	}
	candidates, _ := m.candidates(pod, placer, rec)
	return slices.ContainsFunc(candidates, func(c Candidate) bool { return c.Node == p.Node }) &&
		!slices.ContainsFunc(p.Victims, func(v *model.Pod) bool {
			is := m.state.Pod(v.UID)
			return is == nil || is.NodeName != p.Node || is.Finished()
		})
}
