package trace

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/store"
)

// Summary is the result of a simulation. Times are in virtual seconds.
type Summary struct {
	Seconds      float64    `json:"seconds"`
	Created      int        `json:"created"`
	Placed       int        `json:"placed"` // pods that were bound
	Succeeded    int        `json:"succeeded"`
	FailedPods   int        `json:"failed"`
	Deleted      int        `json:"deleted"`
	Bound        int        `json:"bound"`      // at the end
	Pending      int        `json:"pending"`    // at the end
	Rejections   int        `json:"rejections"` // failed scheduling attempts
	Preemptors   int        `json:"preemptors"`
	Victims      int        `json:"victims"`
	Cascades     int        `json:"cascades"`     // victims of victims' replacements
	CascadeDepth int        `json:"cascadeDepth"` // longest chain of victims
	LatencyP50   float64    `json:"latencyP50"`   // creation to binding
	LatencyP99   float64    `json:"latencyP99"`
	LastBound    float64    `json:"lastBound"`
	LastVictim   float64    `json:"lastVictim"`
	Reasons      []Reason   `json:"reasons,omitempty"`
	Priorities   []Priority `json:"priorities,omitempty"`
	Utilization  []Sample   `json:"utilization"`
	// FailedExpectations are the unmet expectations of the scenario; Violation is the violated
	// invariant.
	FailedExpectations []string `json:"failedExpectations,omitempty"`
	Violation          string   `json:"violation,omitempty"`
	Events             int      `json:"events"` // number of executed events
}

// Reason is why pods are pending at the end.
type Reason struct {
	Message string `json:"message"`
	Pods    int    `json:"pods"`
}

// Priority counts the pods of a priority at the end.
type Priority struct {
	Priority int32 `json:"priority"`
	Bound    int   `json:"bound"`
	Pending  int   `json:"pending"`
}

// Sample is the share of requested resources, and the number of bound and pending pods, at a time.
type Sample struct {
	Seconds float64          `json:"seconds"`
	Percent map[string]int64 `json:"percent"` // by resource
	Bound   int              `json:"bound"`
	Pending int              `json:"pending"`
}

// collect sets the numbers of a run that has ended.
func (s *Summary) collect(w *cluster.Cluster) {
	c := w.Counts()
	s.Created, s.Placed, s.Succeeded, s.FailedPods, s.Deleted = c.Created, c.Bound, c.Succeeded, c.Failed, c.Deleted
	s.Rejections, s.Preemptors, s.Victims, s.Cascades, s.CascadeDepth = c.Rejections, c.Preemptors, c.Victims, c.Cascades, c.CascadeDepth
	s.LastBound, s.LastVictim, s.Events = c.LastBound.Seconds(), c.LastPreemption.Seconds(), w.Steps()
	s.LatencyP50, s.LatencyP99 = percentiles(c.Latencies)
	reasons, priorities := map[string]int{}, map[int32]*Priority{}
	for p := range store.All[*corev1.Pod](w.API()) {
		if store.Finished(p) {
			continue
		}
		var n int32
		if p.Spec.Priority != nil {
			n = *p.Spec.Priority
		}
		if priorities[n] == nil {
			priorities[n] = &Priority{Priority: n}
		}
		if p.Spec.NodeName != "" {
			s.Bound++
			priorities[n].Bound++
			continue
		}
		s.Pending++
		priorities[n].Pending++
		reasons[pendingMessage(p)]++
	}
	for m, n := range reasons {
		s.Reasons = append(s.Reasons, Reason{m, n})
	}
	slices.SortFunc(s.Reasons, func(a, b Reason) int { return cmp.Or(b.Pods-a.Pods, cmp.Compare(a.Message, b.Message)) })
	for _, p := range priorities {
		s.Priorities = append(s.Priorities, *p)
	}
	slices.SortFunc(s.Priorities, func(a, b Priority) int { return cmp.Compare(b.Priority, a.Priority) })
}

// pendingMessage returns why a pod is pending.
func pendingMessage(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Message != "" {
			return c.Message
		}
	}
	return "no reason reported yet"
}

// percentiles returns the 50th and the 99th percentile in seconds.
func percentiles(all []time.Duration) (p50, p99 float64) {
	if len(all) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2].Seconds(), sorted[len(sorted)*99/100].Seconds()
}

// takeSample returns the current utilization.
func takeSample(w *cluster.Cluster) Sample {
	s := Sample{Seconds: w.Elapsed().Seconds(), Percent: map[string]int64{}}
	allocatable, requested := map[corev1.ResourceName]int64{}, map[corev1.ResourceName]int64{}
	add := func(sum map[corev1.ResourceName]int64, list corev1.ResourceList) {
		for name, q := range list {
			if name == corev1.ResourceCPU {
				sum[name] += q.MilliValue()
			} else if name != corev1.ResourcePods {
				sum[name] += q.Value()
			}
		}
	}
	for n := range store.All[*corev1.Node](w.API()) {
		add(allocatable, n.Status.Allocatable)
	}
	for p := range store.All[*corev1.Pod](w.API()) {
		switch {
		case store.Finished(p):
		case p.Spec.NodeName == "":
			s.Pending++
		default:
			s.Bound++
			add(requested, resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}))
		}
	}
	for name, n := range allocatable {
		if n > 0 {
			s.Percent[string(name)] = int64(float64(requested[name]) / float64(n) * 100)
		}
	}
	return s
}
