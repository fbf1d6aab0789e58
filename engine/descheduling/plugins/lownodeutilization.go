package plugins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/descheduling"
)

// LowNodeUtilization moves pods from overutilized nodes to underutilized ones.
type LowNodeUtilization struct {
	// Thresholds are utilizations in percent. A node that exceeds none of them is underutilized.
	Thresholds Thresholds
	// Targets are utilizations in percent. A node that exceeds at least one of them is overutilized. They name the same
	// resources as Thresholds.
	Targets Thresholds
	// Deviation makes Thresholds and Targets distances from the average of all nodes, in percentage points.
	Deviation bool
	// NumberOfNodes is the number of underutilized nodes that must be exceeded for the strategy to run.
	NumberOfNodes int
	// ExcludeNamespaces are the namespaces whose pods are not evicted; their usage counts
	// (evictableNamespaces.exclude).
	ExcludeNamespaces []string
	// PerNode limits the evictions of this strategy per node and run; nil means unlimited
	// (evictionLimits.node).
	PerNode *int
	// UseMetrics selects Snapshot.Usage instead of requests (metricsUtilization).
	UseMetrics bool
}

// Name returns the plugin name used in policies.
func (*LowNodeUtilization) Name() string { return "LowNodeUtilization" }

// UsesMetrics implements descheduling.MetricsUser.
func (s *LowNodeUtilization) UsesMetrics() bool { return s.UseMetrics }

// Run evicts pods from overutilized nodes, the most utilized first. It stops when each is at its target, or when the
// free capacity of the underutilized nodes is used up.
func (s *LowNodeUtilization) Run(r *descheduling.Round) {
	var usage *descheduling.Usage
	if s.UseMetrics {
		usage = r.Snapshot.Usage
		if usage == nil {
			return
		}
	}
	m := newUsageReader(s.Thresholds, usage)
	all := m.nodeUsages(r)
	lower, upper := s.Thresholds, s.Targets
	if s.Deviation {
		lower, upper = deviationThresholds(all, lower, upper)
	}
	var low, high []*nodeUsage
	for _, l := range all {
		l.setLimits(upper)
		switch {
		case !l.node.Unschedulable && l.isBelow(lower):
			low = append(low, l)
		case l.isAbove(upper):
			high = append(high, l)
		}
	}
	if len(low) == 0 || len(low) <= s.NumberOfNodes || len(low) == len(all) {
		return
	}
	slices.SortStableFunc(high, func(a, b *nodeUsage) int { return compareUsage(b, a) })
	w := newPodEvictor(r, m, low)
	w.trackUsage(all)
	w.excludedNamespaces, w.perNode = s.ExcludeNamespaces, s.PerNode
	w.removable = func(*descheduling.Pod) bool { return true }
	w.isDone = func(l *nodeUsage) bool { return !l.isOverLimit() }
	w.candidate = func(p *descheduling.Pod, l *nodeUsage) *descheduling.Candidate {
		return &descheduling.Candidate{Pod: p, Node: l.node,
			Reason: func() string { return l.describeExcess(m, upper) },
			Gain:   func(to *descheduling.Node) descheduling.Gain { return w.usageGain(p, l, w.usages[to]) },
		}
	}
	for _, l := range high {
		if !w.evictFrom(l, w.removablePods(l)) {
			return
		}
	}
}

// describeExcess describes by how much a node exceeds its targets.
func (l *nodeUsage) describeExcess(m *usageReader, targets Thresholds) string {
	var parts []string
	for i := range targets {
		if p := l.percent(i); p > targets[i].Percent {
			parts = append(parts, fmt.Sprintf("%s %.1f %%, target %.1f %%", m.resources[i], p, targets[i].Percent))
		}
	}
	return "node is above its target: " + strings.Join(parts, "; ")
}

// usageGain returns the gain of a move: the usage of the node from above its targets, in
// millionths of its capacity. A move that raises the node to above a target has no gain.
func (s *podEvictor) usageGain(p *descheduling.Pod, from, to *nodeUsage) descheduling.Gain {
	g := descheduling.Gain{Before: from.overTarget(s.thresholds), Metric: "millionths of the node above its targets"}
	g.After = g.Before
	uses, measured := s.podUsage(p)
	if to == nil || !measured {
		return g
	}
	after := &nodeUsage{capacity: from.capacity, used: slices.Clone(from.used), limit: from.limit}
	for i, n := range uses {
		after.used[i] -= n
		if to.used[i]+n > to.limit[i] {
			return g
		}
	}
	g.After = after.overTarget(s.thresholds)
	return g
}

// overTarget returns the usage above the limits, summed over the first n resources, in millionths
// of the capacity.
func (l *nodeUsage) overTarget(n int) int64 {
	sum := int64(0)
	for i := range n {
		if excess := l.used[i] - l.limit[i]; excess > 0 && l.capacity[i] > 0 {
			sum += int64(float64(excess) / float64(l.capacity[i]) * 1e6)
		}
	}
	return sum
}
