package nodepressure

import "time"

// ThresholdState is a threshold with the measurement that it is compared with.
type ThresholdState struct {
	Threshold
	Stat Stat
	// Need is the amount below which the threshold is met. It includes MinReclaim while that applies.
	Need int64
	// MetSince is when the threshold was first met; zero: it is not met.
	MetSince time.Time
}

// ThresholdStates returns the state of each threshold after the last Step, with the measurements of an observation.
func (m *Machine) ThresholdStates(o *Observation) []ThresholdState {
	out := make([]ThresholdState, len(m.config.Thresholds))
	for i, t := range m.config.Thresholds {
		s := &m.thresholds[i]
		out[i] = ThresholdState{Threshold: t, Stat: o.Signals[t.Signal], MetSince: s.since}
		capacity := out[i].Stat.Capacity
		out[i].Need = t.Value.Of(capacity).Amount
		if s.graceElapsed && t.MinReclaim != nil {
			out[i].Need += t.MinReclaim.Of(capacity).Amount
		}
	}
	return out
}

// Candidate is a pod in the order in which a signal's pressure would evict it.
type Candidate struct {
	Pod *Pod
	// Unknown is set if the pod has no usage statistics.
	Unknown bool
	// Used and Requested are amounts of the scarce resource.
	Used, Requested int64
	// Exempt is set for critical pods, which are never evicted for pressure.
	Exempt bool
	// Evictable is set if the threshold may evict the pod. A terminating pod is evictable if its grace period may be
	// shortened.
	Evictable bool
}

// Candidates returns the pods in the order in which the machine would evict them for a threshold.
func (m *Machine) Candidates(now time.Time, t *Threshold, pods []Pod) []Candidate {
	s := t.Signal
	ranked := m.rank(s, pods)
	out := make([]Candidate, len(ranked))
	for i := range ranked {
		r := &ranked[i]
		out[i] = Candidate{Pod: r.pod, Unknown: r.unknown, Used: r.used, Exempt: Critical(r.pod.Pod, r.pod.EvictionSpec)}
		out[i].Evictable = !out[i].Exempt && t.canEvict(now, r.pod)
		if !r.unknown && s != PIDAvailable {
			out[i].Requested = r.used - r.overRequest
		}
	}
	return out
}
