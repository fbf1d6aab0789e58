package assumption

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// correction records that a node has less of a resource than it reports: it rejected a pod
// for lack of it (kubernetes#106419). The node may run pods that the API does not have, or it has
// shrunk. The deficit is subtracted from the node's allocatable resources for a while.
type correction struct {
	resource     string
	deficit      int64
	reportedSize int64 // reported allocatable amount at that time
	expires      time.Time
}

// AddShortage records the deficit of a node that rejected a pod for lack of a resource. info is the
// node in the scheduler's state. It reports whether anything changed.
func (n *Node) AddShortage(s *model.ResourceShortage, info *cluster.NodeInfo, until time.Time) bool {
	size := allocatable(n.reported, s.Resource)
	deficit := size - usedWithoutPod(info, s) - s.Free
	if deficit <= 0 {
		return false // the node's pods explain the shortage
	}
	for i := range n.corrections {
		if c := &n.corrections[i]; c.resource == s.Resource {
			if deficit <= c.deficit && !until.After(c.expires) {
				return false // already recorded
			}
			c.deficit, c.reportedSize, c.expires = max(c.deficit, deficit), size, until
			return true
		}
	}
	n.corrections = append(n.corrections, correction{s.Resource, deficit, size, until})
	return true
}

// usedWithoutPod returns the amount of the resource in use, without the rejected pod.
func usedWithoutPod(info *cluster.NodeInfo, s *model.ResourceShortage) int64 {
	index := slices.IndexFunc(info.Pods, func(p *model.Pod) bool { return p.UID == s.Pod })
	if s.Resource == "pods" {
		if index >= 0 {
			return int64(len(info.Pods)) - 1
		}
		return int64(len(info.Pods))
	}
	used := info.Used.Amount(s.Resource)
	if index >= 0 {
		used -= info.Pods[index].Spec.Requests.Amount(s.Resource)
	}
	return used
}

// expireCorrections drops corrections that expired or whose node reports a new size.
func (n *Node) expireCorrections(now time.Time) {
	n.corrections = slices.DeleteFunc(n.corrections, func(c correction) bool {
		return !c.expires.After(now) || n.reported != nil && allocatable(n.reported, c.resource) != c.reportedSize
	})
}

// applyCorrections subtracts the deficits from a node's allocatable resources.
func (n *Node) applyCorrections(dst *model.Node) {
	for _, c := range n.corrections {
		corrected := max(allocatable(dst, c.resource)-c.deficit, 0)
		a := &dst.Allocatable
		switch c.resource {
		case "pods":
			dst.AllocatablePods = corrected
		case "cpu":
			a.MilliCPU = corrected
		case "memory":
			a.Memory = corrected
		case "ephemeral-storage":
			a.Ephemeral = corrected
		default:
			a.Scalars = slices.Clone(a.Scalars)
			for i := range a.Scalars {
				if a.Scalars[i].Name == c.resource {
					a.Scalars[i].Amount = corrected
				}
			}
		}
	}
}

func allocatable(n *model.Node, resource string) int64 {
	if resource == "pods" {
		return n.AllocatablePods
	}
	return n.Allocatable.Amount(resource)
}
