package agent

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/podlife"
	"github.com/berthproject/berth/engine/shutdown"
)

// shortGrace is one after which a pod is gone before it would be seen that it is to go.
const shortGrace = time.Second

// evict ends a pod for who watches its node, for a critical pod, or because the node is shut down.
func (a *Agent) evict(e Eviction) {
	p := a.pods[e.Pod]
	if p == nil || p.life.Over() {
		if e.Done != nil {
			e.Done()
		}
		return
	}
	if e.Done != nil {
		p.done = append(p.done, e.Done)
	}
	if p.condition == nil && e.Condition != nil {
		p.condition = e.Condition
		p.announced = !e.Now && e.Grace > shortGrace && e.Condition.Reason == corev1.PodReasonTerminationByKubelet
	}
	a.release(p)
	a.step(p, podlife.Fail{Reason: e.Reason, Message: e.Message, Grace: e.Grace, Now: e.Now})
}

// announcements are the conditions of pods that are ended for another cause than a shortage, and what they fail with.
var announcements = []struct{ condition, reason, message string }{
	{preemptedCondition, "Preempting", preemptedMessage},
	{haltedMessage, "Terminated", haltedMessage},
}

// unfinished is the eviction of a pod that its agent had begun and not finished when it was started anew: what is left
// of the grace is counted from when the condition was written. The kubelet forgets it, and the pod goes on.
func (a *Agent) unfinished(p *pod) []podlife.Event {
	conditions := p.object.Status.Conditions
	i := slices.IndexFunc(conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonTerminationByKubelet
	})
	if i < 0 || p.refused || p.life.Ended() || !taken(p.object) {
		return nil
	}
	c := conditions[i]
	fail := podlife.Fail{Reason: "Evicted", Message: c.Message}
	since := c.LastTransitionTime.Time
	by := since.Add(patience(p.object))
	n := slices.IndexFunc(announcements, func(x struct{ condition, reason, message string }) bool { return x.condition == c.Message })
	if n >= 0 {
		fail.Reason, fail.Message = announcements[n].reason, announcements[n].message
		if c.Message == haltedMessage && len(a.opts.Shutdown) > 0 {
			by = since.Add(shutdown.Grace(a.opts.Shutdown, toStop(p.object)))
		}
	} else if r, ok := p.node.pressure.(Resumer); ok {
		var done func()
		by, done = r.Resume(p.object, since)
		p.done = append(p.done, done)
	}
	fail.Grace = max(time.Until(by), 0)
	p.condition, p.announced = &c, true
	a.release(p)
	return []podlife.Event{fail}
}
