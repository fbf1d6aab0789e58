package agent

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/engine/shutdown"
	"github.com/berthproject/berth/internal/conversion"
)

// maxUnannouncedGrace is the longest grace period for which the agent does not write DisruptionTarget before
// the pod terminates: clients could hardly observe the condition.
const maxUnannouncedGrace = time.Second

// evict ends a pod because of node pressure, preemption by a critical pod, or node shutdown.
func (a *Agent) evict(e Eviction) {
	p := a.pods[e.Pod]
	if p == nil || p.lifecycle.Stopped() {
		if e.Done != nil {
			e.Done()
		}
		return
	}
	if e.Done != nil {
		p.onTerminated = append(p.onTerminated, e.Done)
	}
	p.untilReleased = p.untilReleased || e.UntilReleased
	if p.condition == nil && e.Condition != nil {
		p.condition = e.Condition
		p.announceCondition = !e.Immediate && e.Grace > maxUnannouncedGrace && e.Condition.Reason == corev1.PodReasonTerminationByKubelet
	}
	a.unblock(p)
	a.stepPod(p, podlifecycle.Fail{Reason: e.Reason, Message: e.Message, Grace: e.Grace, KillNow: e.Immediate})
}

type terminationCause struct{ condition, reason, message string }

// terminationCauses maps the condition messages of pods ended for a cause other than node
// pressure to the reason and message of their failure.
var terminationCauses = []terminationCause{
	{preemptionConditionMessage, "Preempting", preemptionMessage},
	{shutdownMessage, "Terminated", shutdownMessage},
}

// resumeEviction returns the events that continue an eviction begun before the agent restarted.
// The remaining grace counts from the condition's transition time. The kubelet does not resume
// such evictions: the pod keeps running.
func (a *Agent) resumeEviction(p *pod) []podlifecycle.Event {
	c := conversion.ActiveDisruptionTarget(p.object)
	if c == nil || c.Reason != corev1.PodReasonTerminationByKubelet || p.rejected || p.lifecycle.Terminal() || !wasAdmitted(p.object) {
		return nil
	}
	fail := podlifecycle.Fail{Reason: "Evicted", Message: c.Message}
	since := c.LastTransitionTime.Time
	deadline := since.Add(terminationGracePeriod(p.object))
	n := slices.IndexFunc(terminationCauses, func(x terminationCause) bool { return x.condition == c.Message })
	if n >= 0 {
		fail.Reason, fail.Message = terminationCauses[n].reason, terminationCauses[n].message
		if c.Message == shutdownMessage && len(a.opts.Shutdown) > 0 {
			deadline = since.Add(shutdown.Grace(a.opts.Shutdown, shutdownPod(p.object)))
		}
	} else if r, ok := p.node.pressure.(EvictionResumer); ok {
		var done func()
		deadline, done = r.ResumeEviction(p.object, since)
		p.onTerminated = append(p.onTerminated, done)
		p.untilReleased = true // the cause may be memory
	}
	fail.Grace = max(deadline.Sub(a.env.now()), 0)
	p.condition, p.announceCondition = c.DeepCopy(), true
	a.unblock(p)
	return []podlifecycle.Event{fail}
}
