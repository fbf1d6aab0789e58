package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// capacityCorrection records that a node has less of a resource than it reports: it rejected a pod
// for lack of it (kubernetes#106419). The node may run pods that the API does not have, or it has
// shrunk. The deficit is subtracted from the node's allocatable resources for a while.
type capacityCorrection struct {
	resource     string
	deficit      int64
	reportedSize int64 // what the node reported at that time
	expires      time.Time
}

// addCapacityCorrection records a node's deficit. It reports whether anything changed.
func (m *Machine) addCapacityCorrection(p *assumedPressure, e *model.NodeEviction, ends time.Time) bool {
	id, known := m.state.NodeID(e.Node)
	if !known || p.reported == nil {
		return false // no pod is placed on an unknown node
	}
	size := allocatableOf(p.reported, e.Shortage.Resource)
	less := size - m.usedWithoutPod(m.state.Node(id), e.Shortage) - e.Shortage.Free
	if less <= 0 {
		return false // the node is just full
	}
	for i := range p.corrections {
		if l := &p.corrections[i]; l.resource == e.Shortage.Resource {
			if less <= l.deficit && !ends.After(l.expires) {
				return false // already recorded
			}
			l.deficit, l.reportedSize, l.expires = max(l.deficit, less), size, ends
			return true
		}
	}
	p.corrections = append(p.corrections, capacityCorrection{e.Shortage.Resource, less, size, ends})
	return true
}

// usedWithoutPod returns the amount of the resource in use, without the rejected pod.
func (m *Machine) usedWithoutPod(n *cluster.NodeInfo, l *model.ResourceShortage) int64 {
	there := slices.IndexFunc(n.Pods, func(p *model.Pod) bool { return p.UID == l.Pod })
	if l.Resource == "pods" {
		if there >= 0 {
			return int64(len(n.Pods)) - 1
		}
		return int64(len(n.Pods))
	}
	used := n.Used.Amount(l.Resource)
	if there >= 0 {
		used -= n.Pods[there].Spec.Requests.Amount(l.Resource)
	}
	return used
}

// expireCorrections drops corrections that expired or whose node reports a new size.
func (p *assumedPressure) expireCorrections(now time.Time) {
	p.corrections = slices.DeleteFunc(p.corrections, func(l capacityCorrection) bool {
		return !l.expires.After(now) || p.reported != nil && allocatableOf(p.reported, l.resource) != l.reportedSize
	})
}

// applyCorrections subtracts the deficits from a node's allocatable resources.
func (p *assumedPressure) applyCorrections(n *model.Node) {
	for _, l := range p.corrections {
		left := max(allocatableOf(n, l.resource)-l.deficit, 0)
		a := &n.Allocatable
		switch l.resource {
		case "pods":
			n.AllocatablePods = left
		case "cpu":
			a.MilliCPU = left
		case "memory":
			a.Memory = left
		case "ephemeral-storage":
			a.Ephemeral = left
		default:
			a.Scalars = slices.Clone(a.Scalars)
			for i := range a.Scalars {
				if a.Scalars[i].Name == l.resource {
					a.Scalars[i].Amount = left
				}
			}
		}
	}
}

func allocatableOf(n *model.Node, resource string) int64 {
	if resource == "pods" {
		return n.AllocatablePods
	}
	return n.Allocatable.Amount(resource)
}
