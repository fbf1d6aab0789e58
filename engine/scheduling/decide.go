package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
)

// decide tries the next pod; false when there is none.
func (m *Machine) decide(now time.Time) bool {
	a, ok := m.queue.Next(now)
	if !ok {
		return false
	}
	pod := m.state.Pod(a.UID)
	if m.unsettled(a.UID) {
		m.queue.Reject(now, a.UID, decision.RuleSet(0).With(decision.DefaultPreemption))
		return true
	}
	placer := m.placers[pod.Spec.SchedulerName]
	if v := placer.Gate(pod); v != nil {
		m.hold(now, pod, v)
		return true
	}
	if sv, ok := placer.(Surveyor); ok && m.profiles[pod.Spec.SchedulerName].asks(pod) {
		m.survey(now, a, pod, sv)
		return true
	}
	s := m.summary
	*s = decision.Summary{Counts: s.Counts[:0]}
	placer.Decide(pod, s)
	if s.Outcome == decision.Scheduled {
		m.place(now, a, pod, s.Choice)
		return true
	}
	m.summary = freshSummary() // this one is given away
	m.conclude(now, a, pod, s)
	return true
}

// freshSummary has room for the few rows that most refusals have.
func freshSummary() *decision.Summary {
	s := &struct {
		decision.Summary
		rows [2]decision.Count
	}{}
	s.Counts = s.rows[:0]
	return &s.Summary
}

// conclude ends an attempt that found no node.
func (m *Machine) conclude(now time.Time, a queue.Attempt, pod *model.Pod, s *decision.Summary) {
	switch s.Outcome {
	case decision.Infeasible:
		m.infeasible(now, a, pod, s, nil, false)
	case decision.Gated:
		m.hold(now, pod, s.Verdict)
	default:
		m.queue.Fail(now, a.UID)
		m.reject(pod, a.Number, s)
	}
}

// place assumes the pod on its node and asks for the bind, or first for its volumes.
// The room is taken from here on, which can be what others wait for (pod affinity).
func (m *Machine) place(now time.Time, a queue.Attempt, pod *model.Pod, node string) {
	if n := m.nominees[pod.UID]; n != nil && n.node != "" && n.phase <= tellAgain { // nobody knows what came of it
		m.unnominate(now, pod)
		pod = m.state.Pod(pod.UID)
	}
	plan, err := m.placers[pod.Spec.SchedulerName].Volumes(pod, node)
	if err == nil {
		err = m.state.Assume(pod, node)
	}
	if err != nil {
		m.fail(now, pod, a.Number, err.Error())
		return
	}
	m.taken(now, pod.UID)
	m.unsay(pod.UID)
	at := &attempt{uid: pod.UID, node: node, number: a.Number, first: a.First}
	m.byPod[pod.UID] = at
	if n := m.nominees[pod.UID]; n != nil && n.node != "" { // one that is taken back must still be told
		m.dropNominee(now, pod.UID)
	}
	if plan != nil {
		m.prepare(now, at, pod, plan)
		return
	}
	m.bind(now, at, pod, false)
}

// fail takes a pod back from flight with an error and reports it.
func (m *Machine) fail(now time.Time, pod *model.Pod, number int, why string) {
	m.queue.Fail(now, pod.UID)
	m.reject(pod, number, m.errored(why))
}

func (m *Machine) errored(why string) *decision.Summary {
	return &decision.Summary{Outcome: decision.Errored, Error: why, Revision: m.state.Revision(), Nodes: m.state.NumNodes()}
}

func queued(p *model.Pod) queue.Pod {
	return queue.Pod{UID: p.UID, Namespace: p.Namespace, Name: p.Name, Priority: p.Spec.Priority}
}
