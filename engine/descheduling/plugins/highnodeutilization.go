package plugins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/descheduling"
)

// HighNodeUtilization moves the pods of underutilized nodes to other nodes, so that nodes
// become empty.
type HighNodeUtilization struct {
	// Thresholds are utilizations in percent. A node that exceeds none of them is underutilized.
	Thresholds Thresholds
	// NumberOfNodes is the number of underutilized nodes that must be exceeded for the strategy to run.
	NumberOfNodes int
	// OnlyThresholdingResources skips pods that request none of the resources of Thresholds
	// (evictionModes: OnlyThresholdingResources).
	OnlyThresholdingResources bool
	// ExcludeNamespaces are the namespaces whose pods are not evicted; their usage counts
	// (evictableNamespaces.exclude).
	ExcludeNamespaces []string
}

// Name returns the plugin name used in policies.
func (*HighNodeUtilization) Name() string { return "HighNodeUtilization" }

// Run empties underutilized nodes, the least utilized first.
func (s *HighNodeUtilization) Run(r *descheduling.Round) {
	m := newUsageReader(s.Thresholds, nil)
	all := m.nodeUsages(r)
	var low, destinations []*nodeUsage
	for _, l := range all {
		l.setLimits(nil)
		switch {
		case l.isBelow(s.Thresholds):
			low = append(low, l)
		case !l.node.Unschedulable:
			destinations = append(destinations, l)
		}
	}
	if len(low) == 0 || len(low) <= s.NumberOfNodes || len(low) == len(all) || len(destinations) == 0 {
		return
	}
	slices.SortStableFunc(low, compareUsage)
	w := newPodEvictor(r, m, destinations)
	w.excludedNamespaces = s.ExcludeNamespaces
	w.removable = func(p *descheduling.Pod) bool { return !s.OnlyThresholdingResources || s.requestsThresholdResource(p) }
	w.isDone = func(*nodeUsage) bool { return false }
	e := &nodeEmptier{podEvictor: w, thresholds: s.Thresholds, excluded: map[*descheduling.Node]bool{}}
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

// requestsThresholdResource reports whether p requests a resource that has a threshold.
func (s *HighNodeUtilization) requestsThresholdResource(p *descheduling.Pod) bool {
	return slices.ContainsFunc(s.Thresholds, func(t Threshold) bool { return p.Spec.Requests.Amount(t.Resource) > 0 })
}

// nodeEmptier is one run of HighNodeUtilization.
type nodeEmptier struct {
	*podEvictor
	thresholds Thresholds
	excluded   map[*descheduling.Node]bool // in a plan: nodes that are or will be emptied; nothing moves there
}

func (e *nodeEmptier) candidate(p *descheduling.Pod, l *nodeUsage) *descheduling.Candidate {
	return &descheduling.Candidate{Pod: p, Node: l.node,
		Reason: func() string {
			parts := make([]string, len(e.thresholds))
			for i, t := range e.thresholds {
				parts[i] = fmt.Sprintf("%s %.1f %%, threshold %.1f %%", t.Resource, l.percent(i), t.Percent)
			}
			return "node is underutilized: " + strings.Join(parts, "; ")
		},
		Gain: func(to *descheduling.Node) descheduling.Gain {
			remaining := int64(len(e.round.PodsOn(l.node)))
			g := descheduling.Gain{Before: remaining, After: remaining, Metric: "pods on the node to empty"}
			if !e.excluded[to] {
				g.After--
			}
			return g
		},
	}
}
