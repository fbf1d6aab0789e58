package autoscaling

import "math"

// Total is a metric whose value is not measured per pod. One of Value and Average is the target.
type Total struct {
	Usage   int64
	Value   int64 // target of the value; 0: Average is the target
	Average int64 // target of the value divided by the replicas
}

// ProposeTotal returns the number of replicas that a total requires. current is the number of replicas
// that the target should have, and running the number that it has. ready is the number of its ready
// pods.
func ProposeTotal(t Total, tolerance Tolerance, current, running, ready int32) Proposal {
	if t.Value > 0 {
		ratio := float64(t.Usage) / float64(t.Value)
		switch {
		case current == 0:
			return Proposal{Replicas: roundUp(ratio)}
		case tolerance.covers(ratio):
			return Proposal{Replicas: current}
		}
		return Proposal{Replicas: roundUp(ratio * float64(ready))}
	}
	out := Proposal{Replicas: running}
	if !tolerance.covers(float64(t.Usage) / (float64(t.Average) * float64(running))) {
		out.Replicas = roundUp(float64(t.Usage) / float64(t.Average))
	}
	if running > 0 {
		out.Average = int64(math.Ceil(float64(t.Usage) / float64(running)))
	}
	return out
}
