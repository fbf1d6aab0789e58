package descheduling

import (
	"fmt"
	"slices"
	"strings"
)

// Run empties underutilized nodes, the emptiest first.
func (s *HighNodeUtilization) Run(r *Round) {
	m := newUsageReader(s.Thresholds, nil)
	all := m.nodeUsages(r)
	var low, open []*nodeUsage
	for _, l := range all {
		l.setLimits(nil)
		switch {
		case l.isBelow(s.Thresholds):
			low = append(low, l)
		case !l.node.Unschedulable:
			open = append(open, l)
		}
	}
	if len(low) == 0 || len(low) <= s.NumberOfNodes || len(low) == len(all) || len(open) == 0 {
		return
	}
	slices.SortStableFunc(low, compareUsage)
	w := newPodEvictor(r, m, open)
	w.excludedNamespaces = s.ExcludeNamespaces
	w.removable = func(p *Pod) bool { return !s.OnlyThresholdingResources || s.requestsThresholdResource(p) }
	w.isDone = func(*nodeUsage) bool { return false }
	e := &nodeEmptier{podEvictor: w, thresholds: s.Thresholds, excluded: map[*Node]bool{}}
	w.candidate = e.candidate
	if r.Planned() {
		e.planNodes(low)
		return
	}
	for _, l := range low {
		if !w.evictFrom(l, w.removablePods(l)) {
			return
		}
	}
}

// requestsThresholdResource says whether a pod requests any of the resources that have thresholds.
func (s *HighNodeUtilization) requestsThresholdResource(p *Pod) bool {
	return slices.ContainsFunc(s.Thresholds, func(t Threshold) bool { return p.Spec.Requests.Amount(t.Resource) > 0 })
}

// nodeEmptier is HighNodeUtilization at work.
type nodeEmptier struct {
	*podEvictor
	thresholds Thresholds
	excluded   map[*Node]bool // nodes that are to be emptied, or are, in a plan: nothing goes there
}

func (e *nodeEmptier) candidate(p *Pod, l *nodeUsage) *Candidate {
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
			g := Gain{Before: left, After: left, Metric: "pods on the node that is to be emptied"}
			if !e.excluded[to] {
				g.After--
			}
			return g
		},
	}
}
