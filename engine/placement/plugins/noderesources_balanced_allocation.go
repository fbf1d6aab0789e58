package plugins

import (
	"math"

	"github.com/berthproject/berth/engine/placement/framework"
)

// scoreBalancedAllocation scores how much more evenly the resources of a node would be
// used with the pod: 50 + (50 + after - before) / 2. It does not score pods that request
// none of the resources.
func scoreBalancedAllocation(ev *framework.Evaluation, _ []*framework.CandidateNode) framework.PreScoreState {
	resources, podRequests := ev.Profile.Config().Balanced, &ev.Pod.Spec.Requests
	anyRequest := false
	for _, r := range resources {
		anyRequest = anyRequest || podRequests.Amount(r.Name) != 0
	}
	if !anyRequest {
		return framework.PreScoreState{}
	}
	return framework.PreScoreState{Score: func(candidate *framework.CandidateNode) int64 {
		var after, before []float64
		for _, r := range resources {
			l := newResourceLoad(r.Name, podRequests, candidate.Used, &candidate.Node.Allocatable)
			if l.allocatable == 0 {
				continue
			}
			after = append(after, usedFraction(l.requested, l.allocatable))
			before = append(before, usedFraction(l.requested-podRequests.Amount(r.Name), l.allocatable))
		}
		return 50 + (50+balancedScore(after)-balancedScore(before))/2
	}}
}

// usedFraction returns used/allocatable, at most 1.
func usedFraction(used, allocatable int64) float64 {
	return min(float64(used)/float64(allocatable), 1)
}

// balancedScore returns 100 times one minus the standard deviation of the fractions,
// truncated. The operations and their order are those of kube-scheduler, so that scores
// are equal; products must not be fused.
func balancedScore(fractions []float64) int64 {
	var std float64
	switch n := len(fractions); {
	case n == 2:
		std = math.Abs((fractions[0] - fractions[1]) / 2)
	case n > 2:
		var total, sum float64
		for _, f := range fractions {
			total += f
		}
		mean := total / float64(n)
		for _, f := range fractions {
			sum += float64((f - mean) * (f - mean))
		}
		std = math.Sqrt(sum / float64(n))
	}
	return int64(float64((1 - std) * 100))
}
