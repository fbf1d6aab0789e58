package taints

import (
	"container/heap"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// timed are the NoExecute taints of a node with the moment each counts from: when it was put on,
// or, when that is not known, when it was seen first. One that was known keeps its moment.
func timed(now time.Time, known []since, taints []model.TimedTaint, started time.Time) []since {
	var out []since
	for _, t := range taints {
		if t.Effect != model.NoExecute {
			continue
		}
		i := slices.IndexFunc(known, func(s since) bool { return s.Taint == t.Taint && s.Added.Equal(t.Added) })
		if i >= 0 {
			out = append(out, known[i])
			continue
		}
		out = append(out, since{TimedTaint: t, from: moment(now, t.Added), untrusted: lost(t.Key) && t.Added.Before(started)})
	}
	return out
}

// moment reads a time of an object, which has whole seconds: what has just happened
// happened now. So does what has no time, or one that is to come (another clock).
func moment(now, t time.Time) time.Time {
	if t.IsZero() || now.Sub(t) < time.Second {
		return now
	}
	return t
}

// lost says whether a taint is of those that lost nodes get.
func lost(key string) bool {
	return key == "node.kubernetes.io/not-ready" || key == "node.kubernetes.io/unreachable"
}

// judge brings what is planned for a pod up to date.
func (m *Machine) judge(now time.Time, p *pod, n *node) {
	was := p.fate
	p.fate = fate{}
	if n.known {
		p.fate = judge(p.Tolerations, p.bound, n.taints, m.o, m.started)
		if m.o.Frozen {
			p.fate = m.frozen(now, was, p, n)
		}
	}
	switch {
	case p.asked:
	case p.fate.leaves:
		m.schedule(p)
	case was.leaves:
		m.unschedule(p)
		m.out = append(m.out, Cancel{Pod: p.Pod, Was: was.due})
	}
}

// frozen is the fate by Kubernetes' rule: the shortest toleration, counted from now, is set once.
// That a taint is not borne at all changes it; nothing else does, but that the pod need not leave.
func (m *Machine) frozen(now time.Time, was fate, p *pod, n *node) fate {
	f := p.fate
	if !f.leaves {
		return f
	}
	if was.leaves && !was.tolerated {
		return was
	}
	short := fate{}
	for i := range n.taints {
		one := judge(p.Tolerations, now, n.taints[i:i+1], m.o, m.started)
		switch {
		case !one.leaves:
			continue
		case !one.tolerated:
			one.due = now
			if n.taints[i].untrusted {
				one.due = later(now, m.started.Add(m.o.StartupGrace))
			}
			return one
		}
		if !short.leaves || one.seconds < short.seconds {
			short = one
		}
	}
	if was.leaves {
		return was
	}
	short.due = after(now, short.seconds)
	return short
}

// schedule has a pod asked for when it is due, and not too soon after a failure.
func (m *Machine) schedule(p *pod) {
	p.at = later(p.fate.due, p.again)
	if p.index >= 0 {
		heap.Fix(&m.due, p.index)
		return
	}
	heap.Push(&m.due, p)
}

func (m *Machine) unschedule(p *pod) {
	if p.index >= 0 {
		heap.Remove(&m.due, p.index)
	}
}

// schedule is a heap of pods by the time to ask for them, then by name.
type schedule []*pod

func (s schedule) Len() int { return len(s) }
func (s schedule) Less(i, j int) bool {
	if !s[i].at.Equal(s[j].at) {
		return s[i].at.Before(s[j].at)
	}
	return s[i].key < s[j].key
}
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

// Push is for container/heap.
func (s *schedule) Push(x any) {
	p, ok := x.(*pod)
	if !ok {
		return
	}
	p.index = len(*s)
	*s = append(*s, p)
}

// Pop is for container/heap.
func (s *schedule) Pop() any {
	old := *s
	p := old[len(old)-1]
	p.index = -1
	*s = old[:len(old)-1]
	return p
}
