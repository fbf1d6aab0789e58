package placement

import (
	"math"

	"github.com/berthproject/berth/engine/model"
)

// scoreVolumes scores how full the storage that the pod's claims get on a node would be:
// the volumes that they are bound to, by class, or, when none are, what drivers
// publish to have left where volumes are made. It takes a shape in the profile
// (kube-scheduler's gate StorageCapacityScoring, off by default in 1.36).
func (a *attempt) scoreVolumes() scoring {
	shape := a.profile.cfg.VolumeShape
	if len(shape) == 0 || len(a.pod.Spec.Claims) == 0 {
		return scoring{}
	}
	pv, refusal, err := a.claimsOf()
	if refusal != "" || err != nil || len(pv.chosen)+len(pv.waiting) == 0 {
		return scoring{}
	}
	return scoring{raw: func(st *site) int64 {
		plan, _ := a.obtain(pv, st.node)
		if plan == nil {
			return 0
		}
		return volumePoints(a.storageLoads(plan, st.node), shape)
	}}
}

// storageLoad is what a pod asks of a class on a node, and what there is.
type storageLoad struct {
	class               string
	requested, capacity int64
}

func (a *attempt) storageLoads(plan *model.VolumePlan, n *model.Node) []storageLoad {
	var out []storageLoad
	of := func(class string) *storageLoad {
		for i := range out {
			if out[i].class == class {
				return &out[i]
			}
		}
		out = append(out, storageLoad{class: class})
		return &out[len(out)-1]
	}
	for _, b := range plan.Bind {
		l := of(b.Claim.ClassName())
		l.requested += b.Claim.Request
		l.capacity += b.Volume.Capacity
	}
	if len(plan.Bind) > 0 {
		return out
	}
	for _, c := range plan.Provision {
		class, ok := a.state.StorageClass(c.ClassName())
		if !ok {
			continue
		}
		if published, asked := a.roomFor(c, class, n); asked && published != nil && published.Capacity != nil {
			l := of(class.Name)
			l.requested += c.Request
			l.capacity = *published.Capacity // all claims share it
		}
	}
	return out
}

// volumePoints is the mean over the classes, rounded to the nearest.
func volumePoints(loads []storageLoad, shape []ShapePoint) int64 {
	if len(loads) == 0 {
		return 0
	}
	var sum int64
	for _, l := range loads {
		utilization := int64(100)
		if l.capacity > 0 && l.requested <= l.capacity {
			utilization = l.requested * 100 / l.capacity
		}
		sum += onLine(shape, utilization)
	}
	return int64(math.Round(float64(sum) / float64(len(loads))))
}
