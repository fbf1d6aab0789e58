package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// portSet is the host ports taken on a node on trial. As upstream it is a set: of
// two pods with the same port the first to leave takes it along. It makes a
// difference only where pods were put beside each other that do not go together.
type portSet []model.HostPort

func portsOf(n *cluster.NodeInfo) portSet { return slices.Clone(n.Ports) }

func (s *portSet) remove(p *model.Pod) {
	*s = slices.DeleteFunc(*s, func(t model.HostPort) bool { return slices.Contains(p.Spec.Ports, t) })
}

func (s *portSet) add(p *model.Pod) { *s = append(*s, p.Spec.Ports...) }
