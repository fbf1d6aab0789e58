package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// portSet is the host ports in use on a node in a dry run. As in kube-scheduler it is a set: if two pods use
// the same port, removing one frees it. That matters only if conflicting pods already run together.
type portSet []model.HostPort

func portsOf(n *cluster.NodeInfo) portSet { return slices.Clone(n.Ports) }

func (s *portSet) remove(p *model.Pod) {
	*s = slices.DeleteFunc(*s, func(t model.HostPort) bool { return slices.Contains(p.Spec.Ports, t) })
}

func (s *portSet) add(p *model.Pod) { *s = append(*s, p.Spec.Ports...) }
