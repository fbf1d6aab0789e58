package plugins

import (
	"math"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// resourceLoad is the amount of a resource requested on a node, including the pod, and the
// allocatable amount.
type resourceLoad struct {
	requested, allocatable int64
	weight                 int64
}

// scoreNodeResourcesFit scores how full a node would be, by the profile's strategy.
// Containers without cpu or memory requests count with kube-scheduler's defaults
// (model.PodSpec.Scoring).
func scoreNodeResourcesFit(ev *framework.Evaluation, _ []*framework.CandidateNode) framework.PreScoreState {
	args, requests := &ev.Profile.Config().Fit, &ev.Pod.Spec.Scoring
	if ev.Pod.Spec.ScoringIncoming != nil {
		requests = ev.Pod.Spec.ScoringIncoming
	}
	return framework.PreScoreState{Score: func(candidate *framework.CandidateNode) int64 {
		loads := make([]resourceLoad, 0, 4)
		for _, r := range args.Resources {
			if l := newResourceLoad(r.Name, requests, candidate.Scoring, &candidate.Node.Allocatable); l.allocatable != 0 {
				l.weight = r.Weight
				loads = append(loads, l)
			}
		}
		switch args.Strategy {
		case framework.MostAllocated:
			return weightedMean(loads, mostAllocated)
		case framework.RequestedToCapacityRatio:
			return requestedToCapacityRatio(loads, args.Shape)
		}
		return weightedMean(loads, leastAllocated)
	}}
}

// newResourceLoad returns the load of a resource including the pod. It is zero for scalar
// resources that the pod does not request.
func newResourceLoad(name string, pod, used, allocatable *model.Resources) resourceLoad {
	switch name {
	case "cpu":
		return resourceLoad{requested: used.MilliCPU + pod.MilliCPU, allocatable: allocatable.MilliCPU}
	case "memory":
		return resourceLoad{requested: used.Memory + pod.Memory, allocatable: allocatable.Memory}
	case "ephemeral-storage":
		return resourceLoad{requested: used.Ephemeral + pod.Ephemeral, allocatable: allocatable.Ephemeral}
	}
	requested := pod.Scalar(name)
	if requested == 0 {
		return resourceLoad{}
	}
	return resourceLoad{requested: used.Scalar(name) + requested, allocatable: allocatable.Scalar(name)}
}

// weightedMean returns the weighted mean of the scores, rounded down.
func weightedMean(loads []resourceLoad, points func(resourceLoad) int64) int64 {
	var sum, weights int64
	for _, l := range loads {
		sum += points(l) * l.weight
		weights += l.weight
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

func leastAllocated(l resourceLoad) int64 {
	if l.requested > l.allocatable {
		return 0
	}
	return (l.allocatable - l.requested) * 100 / l.allocatable
}

func mostAllocated(l resourceLoad) int64 {
	return min(l.requested, l.allocatable) * 100 / l.allocatable
}

// requestedToCapacityRatio returns the weighted mean of the interpolated scores, rounded.
// Resources with score 0 have no weight.
func requestedToCapacityRatio(loads []resourceLoad, shape []framework.ShapePoint) int64 {
	var sum, weights int64
	for _, l := range loads {
		utilization := int64(100)
		if l.requested <= l.allocatable {
			utilization = l.requested * 100 / l.allocatable
		}
		if points := interpolate(shape, utilization); points > 0 {
			sum += points * l.weight
			weights += l.weight
		}
	}
	if weights == 0 {
		return 0
	}
	return int64(math.Round(float64(sum) / float64(weights)))
}

// interpolate returns the score, 0 to 100, of the profile's shape at a utilization in percent.
func interpolate(shape []framework.ShapePoint, utilization int64) int64 {
	const scale = 10 // shape scores are 0 to 10
	for i, pt := range shape {
		if utilization > pt.Utilization {
			continue
		}
		if i == 0 {
			return pt.Score * scale
		}
		previous := shape[i-1]
		return previous.Score*scale + (pt.Score-previous.Score)*scale*(utilization-previous.Utilization)/(pt.Utilization-previous.Utilization)
	}
	return shape[len(shape)-1].Score * scale
}
