package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// capacityCorrection is that a node has less left of a resource than its pods and its size say: it did not take
// a pod and said so (kubernetes#106419). There may be pods on it of which nobody else knows any
// more, or it has shrunk. What it has less is taken off its size for a while.
type capacityCorrection struct {
	resource     string
	deficit      int64
	reportedSize int64 // what it said that it has when this was found out
	expires      time.Time
}

// addCapacityCorrection takes in of what a node had too little, and says whether that is news.
func (m *Machine) addCapacityCorrection(p *assumedPressure, e *model.NodeEviction, ends time.Time) bool {
	id, known := m.state.NodeID(e.Node)
	if !known || p.reported == nil {
		return false // what is not known is not placed on
	}
	size := allocatableOf(p.reported, e.Shortage.Resource)
	less := size - m.usedWithoutPod(m.state.Node(id), e.Shortage) - e.Shortage.Free
	if less <= 0 {
		return false // that it is full is no news
	}
	for i := range p.corrections {
		if l := &p.corrections[i]; l.resource == e.Shortage.Resource {
			if less <= l.deficit && !ends.After(l.expires) {
				return false // known
			}
			l.deficit, l.reportedSize, l.expires = max(l.deficit, less), size, ends
			return true
		}
	}
	p.corrections = append(p.corrections, capacityCorrection{e.Shortage.Resource, less, size, ends})
	return true
}

// usedWithoutPod is what is taken of the resource, but for the pod that was not.
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

// expireCorrections drops those that are over, and those of which the node has said something newer:
// that it is of another size.
func (p *assumedPressure) expireCorrections(now time.Time) {
	p.corrections = slices.DeleteFunc(p.corrections, func(l capacityCorrection) bool {
		return !l.expires.After(now) || p.reported != nil && allocatableOf(p.reported, l.resource) != l.reportedSize
	})
}

// applyCorrections takes what a node has less off its size.
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
