package plugins

import (
	"math"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// scoreVolumeBinding scores the utilization of the storage that the pod's claims would get on a
// node. It uses the volumes to bind, or else the published capacities. It requires a shape in the
// profile (feature gate StorageCapacityScoring, off by default).
func scoreVolumeBinding(ev *framework.Evaluation, _ []*framework.CandidateNode) framework.PreScoreState {
	shape := ev.Profile.Config().StorageCapacityShape
	if len(shape) == 0 || len(ev.Pod.Spec.Claims) == 0 {
		return framework.PreScoreState{}
	}
	pv, rejection, err := classifyClaims(ev)
	if rejection != "" || err != nil || len(pv.provisioning)+len(pv.waiting) == 0 {
		return framework.PreScoreState{}
	}
	return framework.PreScoreState{Score: func(candidate *framework.CandidateNode) int64 {
		plan, _ := planVolumes(ev, pv, candidate.Node)
		if plan == nil {
			return 0
		}
		return storageScore(classUsages(ev, plan, candidate.Node), shape)
	}}
}

// classUsage is the requested and available storage of a class on a node.
type classUsage struct {
	class               string
	requested, capacity int64
}

// classUsages returns the usages of the storage classes in a plan.
func classUsages(ev *framework.Evaluation, plan *model.VolumePlan, n *model.Node) []classUsage {
	var out []classUsage
	usageOf := func(class string) *classUsage {
		for i := range out {
			if out[i].class == class {
				return &out[i]
			}
		}
		out = append(out, classUsage{class: class})
		return &out[len(out)-1]
	}
	for _, b := range plan.Bind {
		u := usageOf(b.Claim.ClassName())
		u.requested += b.Claim.Request
		u.capacity += b.Volume.Capacity
	}
	if len(plan.Bind) > 0 {
		return out
	}
	for _, c := range plan.Provision {
		class, ok := ev.State.StorageClass(c.ClassName())
		if !ok {
			continue
		}
		if published, applies := findCapacity(ev, c, class, n); applies && published != nil && published.Capacity != nil {
			u := usageOf(class.Name)
			u.requested += c.Request
			u.capacity = *published.Capacity // shared by all claims
		}
	}
	return out
}

// storageScore returns the mean of the scores of the classes, rounded.
func storageScore(usages []classUsage, shape []framework.ShapePoint) int64 {
	if len(usages) == 0 {
		return 0
	}
	var sum int64
	for _, u := range usages {
		utilization := int64(100)
		if u.capacity > 0 && u.requested <= u.capacity {
			utilization = u.requested * 100 / u.capacity
		}
		sum += interpolate(shape, utilization)
	}
	return int64(math.Round(float64(sum) / float64(len(usages))))
}
