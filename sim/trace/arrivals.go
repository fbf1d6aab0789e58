package trace

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/sim/fakeowners"
)

const day = 24 * time.Hour

// BusiestDay returns the first day, from 0, of the window of a length with the most arrivals.
func BusiestDay(trace []Arrival, length time.Duration) int {
	days := int(max(length/day, 1))
	counts, last := map[int]int{}, 0
	for i := range trace {
		d := int(trace[i].Arrives / day)
		counts[d]++
		last = max(last, d)
	}
	busiest, maxCount, count := 0, 0, 0
	for d := 0; d <= last; d++ { // count is of the window that ends with d
		if count += counts[d] - counts[d-days]; count > maxCount {
			busiest, maxCount = max(d-days+1, 0), count
		}
	}
	return busiest
}

// Window returns the pods of a trace that exist in a window. Earlier pods exist from the
// start. Arrivals are compressed by speed; lifetimes are kept.
func Window(trace []Arrival, start, length time.Duration, speed int) []Arrival {
	var out []Arrival
	for _, a := range trace {
		life := a.Departs - a.Arrives
		switch {
		case a.Departs <= start || a.Arrives >= start+length*time.Duration(speed):
			continue
		case a.Arrives < start:
			a.Arrives, a.Departs = 0, a.Departs-start
		default:
			a.Arrives = (a.Arrives - start) / time.Duration(speed)
			a.Departs = a.Arrives + max(life, time.Second)
		}
		out = append(out, a)
	}
	return out
}

// FixedRate returns the pods in trace order at a rate per second, without departures.
func FixedRate(trace []Arrival, rate float64) []Arrival {
	out := make([]Arrival, len(trace))
	for i, a := range trace {
		a.Arrives, a.Departs = time.Duration(float64(i)/rate*float64(time.Second)), 0
		out[i] = a
	}
	return out
}

// SetPriorities sets the priority of each pod by the value of a label; pods with other values get 0.
func SetPriorities(arrivals []Arrival, label string, priorities map[string]int32) {
	for i := range arrivals {
		p := priorities[arrivals[i].Pod.Labels[label]]
		arrivals[i].Pod.Spec.Priority = &p
	}
}

// MarkReplaced makes the simulator replace pods that are deleted or fail before they depart.
func MarkReplaced(arrivals []Arrival) {
	for i := range arrivals {
		p := arrivals[i].Pod
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[fakeowners.ReplaceAnnotation] = "true"
	}
}

// LatestTimestamp returns the latest creation or start time of the objects, or zero, so that a
// simulation does not start before it.
func (s *Simulation) LatestTimestamp() time.Time {
	var latest time.Time
	for _, o := range s.Objects {
		if at := o.GetCreationTimestamp().Time; at.After(latest) {
			latest = at
		}
		if p, ok := o.(*corev1.Pod); ok && p.Status.StartTime != nil && p.Status.StartTime.After(latest) {
			latest = p.Status.StartTime.Time
		}
	}
	return latest
}
