package plugins

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// Threshold is a share of a node's allocatable amount of a resource, in percent from 0 to 100.
type Threshold struct {
	Resource string // as in the API: "cpu", "memory", "pods", "ephemeral-storage", "nvidia.com/gpu"
	Percent  float64
}

// Thresholds are thresholds of several resources, each once, sorted by resource.
type Thresholds []Threshold

// podCount is the resource name of the number of pods.
const podCount = "pods"

// usageReader reads the usage of nodes and pods for some resources.
type usageReader struct {
	// resources are those with thresholds, sorted, then the others of cpu, memory and pods.
	resources  []string
	thresholds int                 // number of resources with thresholds
	usage      *descheduling.Usage // nil: use requests
}

// nodeUsage is the capacity and usage of a node by resource, in milli-CPU, bytes and counts.
type nodeUsage struct {
	node           *descheduling.Node
	capacity, used []int64
	// limit is what the node may use: the upper threshold or its capacity.
	limit []int64
}

func newUsageReader(t Thresholds, usage *descheduling.Usage) *usageReader {
	m := &usageReader{thresholds: len(t), usage: usage}
	for i := range t {
		m.resources = append(m.resources, t[i].Resource)
	}
	for _, basic := range []string{"cpu", "memory", podCount} {
		if !slices.Contains(m.resources, basic) {
			m.resources = append(m.resources, basic)
		}
	}
	return m
}

// nodeUsages returns the usages of the run's nodes. If usage is measured, nodes without measured
// usage are omitted.
func (m *usageReader) nodeUsages(r *descheduling.Round) []*nodeUsage {
	out := make([]*nodeUsage, 0, len(r.Nodes()))
	for _, n := range r.Nodes() {
		used := r.Requests(n)
		if m.usage != nil {
			measured, found := m.usage.Nodes[n.Name]
			if !found {
				continue
			}
			used = &measured
		}
		out = append(out, &nodeUsage{
			node: n, capacity: m.amounts(&n.Allocatable, n.Node.AllocatablePods),
			used: m.amounts(used, int64(len(r.PodsOn(n)))),
		})
	}
	return out
}

func (m *usageReader) amounts(r *model.Resources, pods int64) []int64 {
	out := make([]int64, len(m.resources))
	for i, name := range m.resources {
		if name == podCount {
			out[i] = pods
		} else {
			out[i] = r.Amount(name)
		}
	}
	return out
}

// podUsage returns the usage of a pod, and false if it was not measured.
func (m *usageReader) podUsage(p *descheduling.Pod) ([]int64, bool) {
	used := &p.Spec.Requests
	if m.usage != nil {
		measured, found := m.usage.Pods[p.UID]
		if !found {
			return nil, false
		}
		used = &measured
	}
	return m.amounts(used, 1), true
}

// percent returns the used share of a resource in percent, or 0 if the node has none of it.
func (l *nodeUsage) percent(i int) float64 {
	if l.capacity[i] <= 0 {
		return 0
	}
	return float64(float64(l.used[i]) / float64(l.capacity[i]) * 100) // the conversion prevents a fused multiply-add with the caller's sum
}

// isBelow reports whether no threshold is exceeded.
func (l *nodeUsage) isBelow(t Thresholds) bool { return !l.isAbove(t) }

// isAbove reports whether a threshold is exceeded.
func (l *nodeUsage) isAbove(t Thresholds) bool {
	for i := range t {
		if l.percent(i) > t[i].Percent {
			return true
		}
	}
	return false
}

// setLimits sets the limits to the thresholds, and to the capacity for resources without one.
func (l *nodeUsage) setLimits(t Thresholds) {
	l.limit = slices.Clone(l.capacity)
	for i := range t {
		l.limit[i] = int64(float64(float64(l.capacity[i])*t[i].Percent) * 0.01)
	}
}

func (l *nodeUsage) isOverLimit() bool {
	for i := range l.used {
		if l.used[i] > l.limit[i] {
			return true
		}
	}
	return false
}

// total returns the sum by which the Kubernetes descheduler sorts nodes; it adds bytes, milli-CPU
// and counts.
func (l *nodeUsage) total() int64 {
	sum := int64(0)
	for _, used := range l.used {
		sum += used
	}
	return sum
}

func compareUsage(a, b *nodeUsage) int { return cmp.Compare(a.total(), b.total()) }

// deviationThresholds converts distances from the average usage into thresholds. Nodes without
// a resource do not count for its average.
func deviationThresholds(all []*nodeUsage, below, above Thresholds) (lower, upper Thresholds) {
	lower, upper = slices.Clone(below), slices.Clone(above)
	for i := range below {
		sum, n := 0.0, 0
		for _, l := range all {
			if l.capacity[i] > 0 {
				sum += l.percent(i)
				n++
			}
		}
		average := sum / float64(max(n, 1))
		lower[i].Percent = min(max(average-below[i].Percent, 0), 100)
		upper[i].Percent = min(max(average+above[i].Percent, 0), 100)
	}
	return lower, upper
}
