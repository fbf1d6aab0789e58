package rebalance

import (
	"fmt"
	"slices"
	"strings"
)

// Run empties underutilized nodes, the emptiest first.
func (s *HighNodeUtilization) Run(r *Round) {
	m := newMeter(s.Thresholds, nil)
	all := m.levels(r)
	var low, open []*level
	for _, l := range all {
		l.allow(nil)
		switch {
		case l.below(s.Thresholds):
			low = append(low, l)
		case !l.node.Unschedulable:
			open = append(open, l)
		}
	}
	if len(low) == 0 || len(low) <= s.NumberOfNodes || len(low) == len(all) || len(open) == 0 {
		return
	}
	slices.SortStableFunc(low, byWeight)
	w := newShift(r, m, open)
	w.excluded = s.ExcludeNamespaces
	w.removable = func(p *Pod) bool { return !s.OnlyThresholding || s.asks(p) }
	w.done = func(*level) bool { return false }
	e := &emptying{shift: w, thresholds: s.Thresholds, leaving: map[*Node]bool{}}
	w.candidate = e.candidate
	if r.Planned() {
		e.plan(low)
		return
	}
	for _, l := range low {
		if !w.take(l, w.victims(l)) {
			return
		}
	}
}

// asks says whether a pod requests any of the resources that have thresholds.
func (s *HighNodeUtilization) asks(p *Pod) bool {
	return slices.ContainsFunc(s.Thresholds, func(t Threshold) bool { return p.Spec.Requests.Of(t.Resource) > 0 })
}

// emptying is HighNodeUtilization at work.
type emptying struct {
	*shift
	thresholds Thresholds
	leaving    map[*Node]bool // nodes that are to be emptied, or are, in a plan: nothing goes there
}

func (e *emptying) candidate(p *Pod, l *level) *Candidate {
	return &Candidate{Pod: p, Node: l.node,
		Reason: func() string {
			parts := make([]string, len(e.thresholds))
			for i, t := range e.thresholds {
				parts[i] = fmt.Sprintf("%s %.1f %%, threshold %.1f %%", t.Resource, l.percent(i), t.Percent)
			}
			return "node is underutilized: " + strings.Join(parts, "; ")
		},
		Gain: func(to *Node) Gain {
			left := int64(len(e.round.PodsOn(l.node)))
			g := Gain{Before: left, After: left, Of: "pods on the node that is to be emptied"}
			if !e.leaving[to] {
				g.After--
			}
			return g
		},
	}
}
