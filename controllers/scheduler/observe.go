package scheduler

import (
	"strconv"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling"
)

// onStep records a step: its decisions and the state of the queue.
func (m *metrics) onStep(machine *scheduling.Machine, events []scheduling.Event, effects []scheduling.Effect, duration time.Duration) {
	decisions := 0
	for _, e := range effects {
		decisions += decisionCount(e)
	}
	switch {
	case decisions > 0:
		perDecision := duration / time.Duration(decisions)
		m.perDecision.Store(int64(perDecision))
		for range decisions {
			m.algorithm.Observe(perDecision.Seconds())
		}
	case len(events) > 0 && len(effects) == 0:
		m.events.WithLabelValues(eventsName(events)).Observe((duration / time.Duration(len(events))).Seconds())
	}
	for _, e := range effects {
		m.onEmitted(e)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range effects {
		if decisionCount(e) > 0 {
			m.evaluations.add(podOf(e).Spec)
		}
	}
	m.lastHeartbeat = m.clock.Now()
	m.depths, m.wakeups = machine.Depths(), machine.WakeupCounts()
	m.pendingResizes.Set(float64(machine.DeferredResizes()))
	m.caches = machine.CacheUsage()
	m.cache["nodes"] = machine.State().NumNodes()
	m.cache["pods"], m.cache["assumed_pods"] = machine.State().PodCounts()
	clear(m.arrivals)
	machine.IncomingPods(func(p queue.Pool, c queue.Cause, n uint64) { m.arrivals[arrival{p.String(), c.String()}] += n })
}

// podOf returns the pod of an effect that ends a decision.
func podOf(e scheduling.Effect) *model.Pod {
	if b, ok := e.(scheduling.Bind); ok {
		return b.Pod
	}
	return e.(scheduling.ReportUnschedulable).Pod
}

// eventsName returns the common name of the events of a step, or Mixed if they differ.
func eventsName(events []scheduling.Event) string {
	name := eventName(events[0])
	for _, e := range events[1:] {
		if eventName(e) != name {
			return "Mixed"
		}
	}
	return name
}

func eventName(e scheduling.Event) string {
	switch e := e.(type) {
	case scheduling.Remove:
		return kindName(e.Object) + "Delete"
	case scheduling.Outcome:
		return "Outcome"
	}
	return kindName(e) + "Update"
}

func kindName(object any) string {
	switch object.(type) {
	case *model.Pod:
		return "Pod"
	case *model.Node:
		return "Node"
	}
	return "Object"
}

// decisionCount returns 1 for an effect that ends a decision, and 0 for all others, including those that repeat an
// earlier decision.
func decisionCount(e scheduling.Effect) int {
	switch e := e.(type) {
	case scheduling.Bind:
		return boolToInt(!e.Retry)
	case scheduling.ReportUnschedulable:
		return boolToInt(isAttempt(e))
	}
	return 0
}

// isAttempt reports whether the effect ends an attempt: it is not a repetition, and not a report
// about the victims of an earlier attempt.
func isAttempt(e scheduling.ReportUnschedulable) bool { return !e.Retry && e.Attempt > 0 }

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// onEmitted counts an effect when the machine emits it.
func (m *metrics) onEmitted(e scheduling.Effect) {
	switch e := e.(type) {
	case scheduling.Bind:
		m.binding.Add(1)
	case scheduling.ReportUnschedulable:
		if !isAttempt(e) {
			return
		}
		m.observeAttempt(attemptResult(e.Summary), e.Pod.Spec.SchedulerName, 0)
		if p := e.Summary.Preemption; p != nil && p.Outcome != decision.PreemptionNotTried {
			m.preemptions.Inc()
		}
	case scheduling.Preempt:
		if e.Resize && !e.Retry {
			m.resizePreemptions.Inc()
		}
	case scheduling.ReportDeferredResize:
		m.resizePreemptions.Inc()
	case scheduling.MissedWakeup:
		m.missedWakeups.Inc()
	}
}

// attemptResult returns kube-scheduler's label value for an attempt without a node.
func attemptResult(s *decision.Summary) string {
	if s.Outcome == decision.Errored {
		return "error"
	}
	return "unschedulable"
}

func (m *metrics) observeAttempt(result, profile string, binding time.Duration) {
	m.attempts.WithLabelValues(result, profile).Inc()
	m.duration.WithLabelValues(result, profile).Observe((time.Duration(m.perDecision.Load()) + binding).Seconds())
}

// onExecuted records an executed effect.
func (m *metrics) onExecuted(e scheduling.Effect, o scheduling.Outcome, duration time.Duration) {
	status := "Success"
	if o.Result != scheduling.Done {
		status = "Error"
	}
	switch e := e.(type) {
	case scheduling.Bind:
		m.binding.Add(-1)
		m.extensionPoints.WithLabelValues("Bind", status, e.Pod.Spec.SchedulerName).Observe(duration.Seconds())
		switch {
		case o.Result == scheduling.Conflict && !e.Retry: // the conflict of a retried Bind ends no attempt
			m.observeAttempt("error", e.Pod.Spec.SchedulerName, duration)
		case o.Result == scheduling.Done && !e.Retry: // a ReportBound follows a retried Bind
			m.onBound(e, duration)
		}
	case scheduling.ReportBound:
		m.onBound(e.Bind, e.Duration)
	case scheduling.BindVolumes:
		if o.Result == scheduling.Conflict { // no other effect reports this attempt
			m.observeAttempt("error", e.Pod.Spec.SchedulerName, duration)
		}
		m.extensionPoints.WithLabelValues("PreBind", status, e.Pod.Spec.SchedulerName).Observe(duration.Seconds())
	case scheduling.Preempt:
		switch {
		case o.Result == scheduling.Done && e.Resize:
			m.resizeVictims.Observe(float64(len(e.Plan.Victims)))
		case o.Result == scheduling.Done:
			m.victims.Observe(float64(len(e.Plan.Victims)))
		case o.Result == scheduling.Refused:
			m.debitsRefused.Inc()
		}
	}
}

// onBound records a bound pod.
func (m *metrics) onBound(b scheduling.Bind, duration time.Duration) {
	m.observeAttempt("scheduled", b.Pod.Spec.SchedulerName, duration)
	m.podAttempts.Observe(float64(b.Attempt))
	label := "15+"
	if b.Attempt < 15 {
		label = strconv.Itoa(b.Attempt)
	}
	m.sli.WithLabelValues(label).Observe(m.clock.Since(b.First).Seconds())
}
