package autoscaling

import (
	"errors"
	"math"
)

// Target is the target of a metric: Utilization in percent of the request or, if that is 0, the average usage of a pod
// in the unit of the samples.
type Target struct {
	Utilization int32
	Average     int64
}

// Tolerance is the deviation of the ratio of usage to target from 1 that does not change the number of replicas.
type Tolerance struct{ Up, Down float64 }

// DefaultTolerance is the tolerance of rules without their own.
const DefaultTolerance = 0.1

// Proposal is the number of replicas that a metric requires, and the average usage of a pod from which it was computed.
type Proposal struct {
	Replicas    int32
	Average     int64
	Utilization int32 // in percent of the requests, for such a target
}

// Errors of Propose.
var (
	ErrNoUsage    = errors.New("did not receive metrics for targeted pods (pods might be unready)")
	ErrNoRequests = errors.New("no metrics returned matched known pods")
)

// Propose returns the number of replicas for a metric. current is the number of replicas that the target has.
func Propose(target Target, tolerance Tolerance, current int32, samples []Sample) (Proposal, error) {
	var measured, missing, unready []Sample
	for _, s := range samples {
		switch s.State {
		case Ready:
			measured = append(measured, s)
		case Missing:
			missing = append(missing, s)
		case Unready:
			unready = append(unready, s)
		}
	}
	if len(measured) == 0 {
		return Proposal{}, ErrNoUsage
	}
	ratio, out, err := target.ratio(measured)
	if err != nil {
		return Proposal{}, err
	}
	out.Replicas = current
	addUnready := len(unready) > 0 && ratio > 1
	if !addUnready && len(missing) == 0 {
		if !tolerance.covers(ratio) {
			out.Replicas = roundUp(ratio * float64(len(measured)))
		}
		return out, nil
	}
	for _, s := range missing {
		s.Usage = 0
		if ratio < 1 {
			s.Usage = target.assumedUsage(s)
		}
		if ratio != 1 {
			measured = append(measured, s)
		}
	}
	if addUnready {
		for _, s := range unready {
			s.Usage = 0
			measured = append(measured, s)
		}
	}
	corrected, _, err := target.ratio(measured)
	if err != nil {
		return Proposal{}, err
	}
	if tolerance.covers(corrected) || ratio < 1 && corrected > 1 || ratio > 1 && corrected < 1 {
		return out, nil
	}
	replicas := roundUp(corrected * float64(len(measured)))
	if corrected < 1 && replicas > current || corrected > 1 && replicas < current {
		return out, nil // the counted pods are not the replicas of the target
	}
	out.Replicas = replicas
	return out, nil
}

// ratio returns usage divided by target.
func (t Target) ratio(samples []Sample) (float64, Proposal, error) {
	var usage, request int64
	for _, s := range samples {
		usage += s.Usage
		request += s.Request
	}
	out := Proposal{Average: usage / int64(len(samples))}
	if t.Utilization == 0 {
		return float64(out.Average) / float64(t.Average), out, nil
	}
	if request == 0 {
		return 0, out, ErrNoRequests
	}
	out.Utilization = int32(min(usage*100/request, math.MaxInt32))
	return float64(out.Utilization) / float64(t.Utilization), out, nil
}

// assumedUsage returns the usage of a pod without metrics while other pods are below the target.
func (t Target) assumedUsage(s Sample) int64 {
	if t.Utilization == 0 {
		return t.Average
	}
	return s.Request * int64(max(100, t.Utilization)) / 100
}

func (t Tolerance) covers(ratio float64) bool { return 1-t.Down <= ratio && ratio <= 1+t.Up }

func roundUp(replicas float64) int32 { return int32(min(math.Ceil(replicas), math.MaxInt32)) }
