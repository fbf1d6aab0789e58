package rebalance

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// podCount is the name of the number of pods as a resource.
const podCount = "pods"

// meter says what nodes and pods use of some resources.
type meter struct {
	// resources are those that have thresholds, sorted, then cpu, memory and pods as far as they have none.
	resources []string
	named     int    // how many have thresholds
	usage     *Usage // nil: requests
}

// level is what a node has and uses, by the meter's resources: thousandths of cores, bytes, numbers.
type level struct {
	node       *Node
	have, used []int64
	// room is what it may use: what the upper threshold allows, or all that it has.
	room []int64
}

func newMeter(t Thresholds, usage *Usage) *meter {
	m := &meter{named: len(t), usage: usage}
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

// levels are those of the round's nodes. A node whose usage is to be measured and was not is left out.
func (m *meter) levels(r *Round) []*level {
	out := make([]*level, 0, len(r.Nodes()))
	for _, n := range r.Nodes() {
		used := r.view.places[n].requested()
		if m.usage != nil {
			measured, there := m.usage.Nodes[n.Name]
			if !there {
				continue
			}
			used = &measured
		}
		out = append(out, &level{
			node: n, have: m.amounts(&n.Allocatable, n.Node.Pods),
			used: m.amounts(used, int64(len(r.PodsOn(n)))),
		})
	}
	return out
}

func (m *meter) amounts(of *model.Requests, number int64) []int64 {
	out := make([]int64, len(m.resources))
	for i, name := range m.resources {
		if name == podCount {
			out[i] = number
		} else {
			out[i] = of.Of(name)
		}
	}
	return out
}

// of is what a pod uses; false: it was not measured.
func (m *meter) of(p *Pod) ([]int64, bool) {
	used := &p.Spec.Requests
	if m.usage != nil {
		measured, there := m.usage.Pods[p.UID]
		if !there {
			return nil, false
		}
		used = &measured
	}
	return m.amounts(used, 1), true
}

// percent is the share of a resource in use; 0 on a node that has none of it.
func (l *level) percent(i int) float64 {
	if l.have[i] <= 0 {
		return 0
	}
	return float64(l.used[i]) / float64(l.have[i]) * 100
}

// below says whether no threshold is passed, above whether one is.
func (l *level) below(t Thresholds) bool { return !l.above(t) }

func (l *level) above(t Thresholds) bool {
	for i := range t {
		if l.percent(i) > t[i].Percent {
			return true
		}
	}
	return false
}

// allow sets the room that thresholds leave.
func (l *level) allow(t Thresholds) {
	l.room = slices.Clone(l.have)
	for i := range t {
		l.room[i] = int64(float64(float64(l.have[i])*t[i].Percent) * 0.01)
	}
}

// full says whether the node uses more of a resource than it may.
func (l *level) full() bool {
	for i := range l.used {
		if l.used[i] > l.room[i] {
			return true
		}
	}
	return false
}

// weight is by what the Kubernetes descheduler sorts nodes: bytes, thousandths of cores and numbers added up.
func (l *level) weight() int64 {
	sum := int64(0)
	for _, used := range l.used {
		sum += used
	}
	return sum
}

// byWeight compares nodes by what they use.
func byWeight(a, b *level) int { return cmp.Compare(a.weight(), b.weight()) }

// around turns distances from the average usage into thresholds. A node without a resource has no part in its average.
func around(all []*level, below, above Thresholds) (under, over Thresholds) {
	under, over = slices.Clone(below), slices.Clone(above)
	for i := range below {
		sum, n := 0.0, 0
		for _, l := range all {
			if l.have[i] > 0 {
				sum += l.percent(i)
				n++
			}
		}
		average := sum / float64(max(n, 1))
		under[i].Percent = min(max(average-below[i].Percent, 0), 100)
		over[i].Percent = min(max(average+above[i].Percent, 0), 100)
	}
	return under, over
}
