package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// lack is that a node has less left of a resource than its pods and its size say: it did not take
// a pod and said so (kubernetes#106419). There may be pods on it of which nobody else knows any
// more, or it has shrunk. What it has less is taken off its size for a while.
type lack struct {
	resource string
	less     int64
	size     int64 // what it said that it has when this was found out
	ends     time.Time
}

// assumeLack takes in of what a node had too little, and says whether that is news.
func (m *Machine) assumeLack(p *pressured, e *model.Eviction, ends time.Time) bool {
	id, known := m.state.NodeID(e.Node)
	if !known || p.seen == nil {
		return false // what is not known is not placed on
	}
	size := sizeOf(p.seen, e.Lack.Resource)
	less := size - m.used(m.state.Node(id), e.Lack) - e.Lack.Free
	if less <= 0 {
		return false // that it is full is no news
	}
	for i := range p.lack {
		if l := &p.lack[i]; l.resource == e.Lack.Resource {
			if less <= l.less && !ends.After(l.ends) {
				return false // known
			}
			l.less, l.size, l.ends = max(l.less, less), size, ends
			return true
		}
	}
	p.lack = append(p.lack, lack{e.Lack.Resource, less, size, ends})
	return true
}

// used is what is taken of the resource, but for the pod that was not.
func (m *Machine) used(n *cluster.NodeInfo, l *model.Lack) int64 {
	there := slices.IndexFunc(n.Pods, func(p *model.Pod) bool { return p.UID == l.Pod })
	if l.Resource == "pods" {
		if there >= 0 {
			return int64(len(n.Pods)) - 1
		}
		return int64(len(n.Pods))
	}
	used := n.Used.Of(l.Resource)
	if there >= 0 {
		used -= n.Pods[there].Spec.Requests.Of(l.Resource)
	}
	return used
}

// settleLacks drops those that are over, and those of which the node has said something newer:
// that it is of another size.
func (p *pressured) settleLacks(now time.Time) {
	p.lack = slices.DeleteFunc(p.lack, func(l lack) bool {
		return !l.ends.After(now) || p.seen != nil && sizeOf(p.seen, l.resource) != l.size
	})
}

// lessen takes what a node has less off its size.
func (p *pressured) lessen(n *model.Node) {
	for _, l := range p.lack {
		left := max(sizeOf(n, l.resource)-l.less, 0)
		a := &n.Allocatable
		switch l.resource {
		case "pods":
			n.Pods = left
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

func sizeOf(n *model.Node, resource string) int64 {
	if resource == "pods" {
		return n.Pods
	}
	return n.Allocatable.Of(resource)
}
