package tainteviction

import (
	"container/heap"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
)

// effectiveTaints returns a node's NoExecute taints with the time since which each counts: when it
// was added, or when it was first observed. The previous taints keep their time.
func effectiveTaints(now time.Time, previous []effectiveTaint, taints []model.TimedTaint, started time.Time) []effectiveTaint {
	var out []effectiveTaint
	for _, t := range taints {
		if t.Effect != model.NoExecute {
			continue
		}
		i := slices.IndexFunc(previous, func(s effectiveTaint) bool { return s.Taint == t.Taint && s.Added.Equal(t.Added) })
		if i >= 0 {
			out = append(out, previous[i])
			continue
		}
		out = append(out, effectiveTaint{TimedTaint: t, since: effectiveTime(now, t.Added), untrusted: notReadyTaint(t.Key) && t.Added.Before(started)})
	}
	return out
}

// effectiveTime interprets a time of an API object. The API stores whole seconds, so a time less than a second ago
// counts as now. So do the zero time and times in the future (clock skew).
func effectiveTime(now, t time.Time) time.Time {
	if t.IsZero() || now.Sub(t) < time.Second {
		return now
	}
	return t
}

// notReadyTaint reports whether the taint is set on nodes that are not ready.
func notReadyTaint(key string) bool {
	return key == "node.kubernetes.io/not-ready" || key == "node.kubernetes.io/unreachable"
}

// replan recomputes a pod's plan.
func (m *Machine) replan(now time.Time, p *pod, n *node) {
	previous := p.plan
	p.plan = evictionPlan{}
	if n.exists {
		p.plan = planEviction(p.Tolerations, p.bound, n.taints, m.options, m.started)
		if m.options.FrozenDeadline {
			p.plan = m.fixedPlan(now, previous, p, n)
		}
	}
	switch {
	case p.inFlight:
	case p.plan.evict:
		m.schedule(p)
	case previous.evict:
		m.unschedule(p)
		m.effects = append(m.effects, Cancel{Pod: p.Pod, Due: previous.due})
	}
}

// fixedPlan returns the plan by Kubernetes' rule: the shortest toleration, counted from now, is set
// once. Only a taint without a toleration, or the absence of any evicting taint, changes it.
func (m *Machine) fixedPlan(now time.Time, previous evictionPlan, p *pod, n *node) evictionPlan {
	if !p.plan.evict {
		return p.plan
	}
	if previous.evict && !previous.tolerated {
		return previous
	}
	shortest := evictionPlan{}
	for i := range n.taints {
		next := planEviction(p.Tolerations, now, n.taints[i:i+1], m.options, m.started)
		switch {
		case !next.evict:
			continue
		case !next.tolerated:
			next.due = now
			if n.taints[i].untrusted {
				next.due = order.Max(now, m.started.Add(m.options.StartupGrace))
			}
			return next
		}
		if !shortest.evict || next.seconds < shortest.seconds {
			shortest = next
		}
	}
	if previous.evict {
		return previous
	}
	shortest.due = addSeconds(now, shortest.seconds)
	return shortest
}

// schedule queues a pod for the time at which it is due and its backoff has ended.
func (m *Machine) schedule(p *pod) {
	p.evictAt = order.Max(p.plan.due, p.notBefore)
	if p.index >= 0 {
		heap.Fix(&m.queue, p.index)
		return
	}
	heap.Push(&m.queue, p)
}

func (m *Machine) unschedule(p *pod) {
	if p.index >= 0 {
		heap.Remove(&m.queue, p.index)
	}
}

// schedule is a heap of pods by eviction time, then by name.
type schedule []*pod

func (s schedule) Len() int { return len(s) }
func (s schedule) Less(i, j int) bool {
	if !s[i].evictAt.Equal(s[j].evictAt) {
		return s[i].evictAt.Before(s[j].evictAt)
	}
	return s[i].key < s[j].key
}
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

// Push implements heap.Interface.
func (s *schedule) Push(x any) {
	p, ok := x.(*pod)
	if !ok {
		return
	}
	p.index = len(*s)
	*s = append(*s, p)
}

// Pop implements heap.Interface.
func (s *schedule) Pop() any {
	old := *s
	p := old[len(old)-1]
	p.index = -1
	*s = old[:len(old)-1]
	return p
}
