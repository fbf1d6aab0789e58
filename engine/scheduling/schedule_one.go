package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// scheduleOne schedules the next pod of the queue. It reports whether there was one.
func (m *Machine) scheduleOne(now time.Time) bool {
	a, ok := m.queue.Pop(now)
	if !ok {
		return false
	}
	pod := m.state.Pod(a.UID)
	if m.preemptInFlight(a.UID) {
		m.queue.RequeueUnschedulable(now, a.UID, decision.PluginSet(0).With(decision.DefaultPreemption))
		return true
	}
	placer := m.placers[pod.Spec.SchedulerName]
	if v := placer.Gate(pod); v != nil {
		m.gatePod(now, pod, v)
		return true
	}
	if explainer, ok := placer.(profiles.Explainer); ok && m.profiles[pod.Spec.SchedulerName].CallsExtenders(pod) {
		m.scheduleWithExtenders(now, a, pod, explainer, false)
		return true
	}
	s := m.summary
	*s = decision.Summary{ReasonCounts: s.ReasonCounts[:0]}
	placer.Decide(pod, s)
	if s.Outcome == decision.Scheduled {
		m.assumeAndBind(now, a, pod, s.Choice)
		return true
	}
	m.summary = newSummary() // the effect keeps this summary
	m.handleSchedulingFailure(now, a, pod, s)
	return true
}

// newSummary returns a summary with space for the few rows that most refusals have.
func newSummary() *decision.Summary {
	s := &struct {
		decision.Summary
		rows [2]decision.ReasonCount
	}{}
	s.ReasonCounts = s.rows[:0]
	return &s.Summary
}

// handleSchedulingFailure ends an attempt without a feasible node.
func (m *Machine) handleSchedulingFailure(now time.Time, a queue.QueuedPodInfo, pod *model.Pod, s *decision.Summary) {
	switch s.Outcome {
	case decision.Infeasible:
		m.handleInfeasible(now, a, pod, s, nil, false)
	case decision.Gated:
		m.gatePod(now, pod, s.Verdict)
	default:
		m.queue.RequeueFailed(now, a.UID)
		m.reportUnschedulable(pod, a.Attempts, s)
	}
}

// assumeAndBind assumes the pod on the node and sends Bind, or BindVolumes first. From here on the
// pod uses resources, which can be what other pods wait for (pod affinity).
func (m *Machine) assumeAndBind(now time.Time, a queue.QueuedPodInfo, pod *model.Pod, node string) {
	if n := m.nominations[pod.UID]; n != nil && n.node != "" && n.phase <= effectUnanswered { // the outcome of the Preempt is unknown
		m.clearNomination(now, pod)
		pod = m.state.Pod(pod.UID)
	}
	plan, err := m.placers[pod.Spec.SchedulerName].VolumePlan(pod, node)
	if err == nil {
		err = m.state.Assume(pod, node)
	}
	if err != nil {
		m.requeueWithError(now, pod, a.Attempts, err.Error())
		return
	}
	m.notifyAssumed(now, pod.UID)
	m.dropReport(pod.UID)
	at := &attempt{uid: pod.UID, node: node, number: a.Attempts, firstQueued: a.FirstEnqueued}
	m.attempts[pod.UID] = at
	if n := m.nominations[pod.UID]; n != nil && n.node != "" { // a cleared nomination must still be written
		m.dropNomination(now, pod.UID)
	}
	if plan != nil {
		m.bindVolumes(now, at, pod, plan)
		return
	}
	m.bind(now, at, pod, false)
}

// requeueWithError returns a pod to the queue with an error and reports it.
func (m *Machine) requeueWithError(now time.Time, pod *model.Pod, number int, reason string) {
	m.queue.RequeueFailed(now, pod.UID)
	m.reportUnschedulable(pod, number, m.errorSummary(reason))
}

func (m *Machine) errorSummary(reason string) *decision.Summary {
	return &decision.Summary{Outcome: decision.Errored, Error: reason, Revision: m.state.Revision(), Nodes: m.state.NumNodes()}
}

func queuePod(p *model.Pod) queue.Pod {
	return queue.Pod{UID: p.UID, Namespace: p.Namespace, Name: p.Name, Priority: p.Spec.Priority}
}
