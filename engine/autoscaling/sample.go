package autoscaling

import "time"

const (
	// CPUInitialization is how long after its start a pod's CPU usage counts only if it was measured
	// while the pod was ready.
	CPUInitialization = 5 * time.Minute
	// InitialReadiness is how long after its start a pod that was never ready counts as starting.
	InitialReadiness = 30 * time.Second
)

// State is how a pod counts.
type State uint8

// The states of a pod.
const (
	Ready   State = iota
	Unready       // starting: its usage is not typical
	Missing       // without metrics
	Ignored       // terminating or failed
)

// Pod holds the properties of a pod that the autoscaler depends on.
type Pod struct {
	Deleting, Failed, Pending bool
	Started                   time.Time // zero: unknown
	HasReady, Ready           bool      // the condition Ready
	ReadySince                time.Time // its last transition
	Measured                  bool      // has metrics
	MeasuredAt                time.Time
	Window                    time.Duration // the metrics cover the time before MeasuredAt
}

// Classify returns how a pod counts. Only CPU usage depends on readiness, because pods use more CPU while they start.
func Classify(now time.Time, p Pod, cpu bool) State {
	switch {
	case p.Deleting || p.Failed:
		return Ignored
	case p.Pending:
		return Unready
	case !p.Measured:
		return Missing
	case cpu && p.isStarting(now):
		return Unready
	}
	return Ready
}

func (p *Pod) isStarting(now time.Time) bool {
	if !p.HasReady || p.Started.IsZero() {
		return true
	}
	if p.Started.Add(CPUInitialization).After(now) {
		return !p.Ready || p.MeasuredAt.Before(p.ReadySince.Add(p.Window))
	}
	return !p.Ready && p.Started.Add(InitialReadiness).After(p.ReadySince)
}

// Sample is the usage of one pod, in any unit.
type Sample struct {
	State   State
	Usage   int64 // of a pod with metrics
	Request int64 // for targets in percent
}
