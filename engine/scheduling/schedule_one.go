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
	info, ok := m.queue.Pop(now)
	if !ok {
		return false
	}
	pod := m.state.Pod(info.UID)
	if m.preemptInFlight(info.UID) {
		m.queue.RequeueUnschedulable(now, info.UID, decision.PluginSet(0).With(decision.DefaultPreemption))
		return true
	}
	placer := m.placers[pod.Spec.SchedulerName]
	if v := placer.Gate(pod); v != nil {
		m.gatePod(now, pod, v)
		return true
	}
	if explainer, ok := placer.(profiles.Explainer); ok && m.profiles[pod.Spec.SchedulerName].CallsExtenders(pod) {
		m.scheduleWithExtenders(now, info, pod, explainer, false)
		return true
	}
	s := m.summary
	*s = decision.Summary{ReasonCounts: s.ReasonCounts[:0]}
	placer.Decide(pod, s)
	if s.Outcome == decision.Scheduled {
		m.assumeAndBind(now, info, pod, s.Choice)
		return true
	}
	m.summary = newSummary() // the effect keeps this summary
	m.handleSchedulingFailure(now, info, pod, s)
	return true
}

// newSummary returns a summary with space for the reasons of most rejections.
func newSummary() *decision.Summary {
	s := &struct {
		decision.Summary
		reasonCounts [2]decision.ReasonCount
	}{}
	s.ReasonCounts = s.reasonCounts[:0]
	return &s.Summary
}

// handleSchedulingFailure ends an attempt without a feasible node.
func (m *Machine) handleSchedulingFailure(now time.Time, info queue.QueuedPodInfo, pod *model.Pod, s *decision.Summary) {
	switch s.Outcome {
	case decision.Infeasible:
		m.handleInfeasible(now, info, pod, s, nil, false)
	case decision.Gated:
		m.gatePod(now, pod, s.Verdict)
	default:
		m.queue.RequeueFailed(now, info.UID)
		m.reportUnschedulable(pod, info.Attempts, s)
	}
}

// assumeAndBind assumes the pod on the node and sends Bind, or BindVolumes first. From here on the
// pod uses resources, and other pods may have affinity to it.
func (m *Machine) assumeAndBind(now time.Time, info queue.QueuedPodInfo, pod *model.Pod, node string) {
	// If the outcome of the Preempt is unknown, the nomination is cleared.
	if n := m.nominations[pod.UID]; n != nil && n.node != "" && n.phase <= effectUnanswered {
		m.clearNomination(now, pod)
		pod = m.state.Pod(pod.UID)
	}
	plan, err := m.placers[pod.Spec.SchedulerName].VolumePlan(pod, node)
	if err == nil {
		err = m.state.Assume(pod, node)
	}
	if err != nil {
		m.requeueWithError(now, pod, info.Attempts, err.Error())
		return
	}
	m.notifyAssumed(now, pod.UID)
	m.dropReport(pod.UID)
	a := &attempt{uid: pod.UID, node: node, number: info.Attempts, firstQueued: info.FirstEnqueued}
	m.attempts[pod.UID] = a
	if n := m.nominations[pod.UID]; n != nil && n.node != "" { // a cleared nomination must still be written
		m.dropNomination(now, pod.UID)
	}
	if plan != nil {
		m.bindVolumes(now, a, pod, plan)
		return
	}
	m.bind(now, a, pod, false)
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
