package framework

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// CandidateNode is a node for filter and score plugins. It may be hypothetical: with nominated
// pods added or victims removed.
type CandidateNode struct {
	ID            cluster.NodeID
	Node          *model.Node
	Pods          []*model.Pod
	Used, Scoring *model.Resources
	Ports         []model.HostPort
	NameHash      uint64
	// Added and Removed are the pods by which this node differs from the cluster state that
	// PreFilter read. Plugins that count pods over several nodes correct their counts by them.
	Added, Removed []*model.Pod
}

// NewCandidateNode returns the CandidateNode of a node of the cluster state.
func NewCandidateNode(n *cluster.NodeInfo) CandidateNode {
	return CandidateNode{ID: n.ID, Node: n.Model, Pods: n.Pods, Used: &n.Used, Scoring: &n.Scoring, Ports: n.Ports, NameHash: n.NameHash}
}

// With returns the node with some pods added and others removed.
func (c *CandidateNode) With(added, removed []*model.Pod) *CandidateNode {
	out := *c
	out.Added, out.Removed = append(slices.Clone(c.Added), added...), append(slices.Clone(c.Removed), removed...)
	out.Pods = slices.DeleteFunc(slices.Clone(c.Pods), func(p *model.Pod) bool {
		return slices.ContainsFunc(removed, func(r *model.Pod) bool { return r.UID == p.UID })
	})
	out.Pods = append(out.Pods, added...)
	out.Used, out.Scoring = &model.Resources{}, &model.Resources{}
	for _, p := range out.Pods {
		*out.Used = SumResources(out.Used, &p.Spec.Requests)
		*out.Scoring = SumResources(out.Scoring, &p.Spec.Scoring)
	}
	out.Ports = slices.Clone(c.Ports)
	for _, p := range removed {
		for _, port := range p.Spec.Ports {
			if i := slices.Index(out.Ports, port); i >= 0 {
				out.Ports = slices.Delete(out.Ports, i, i+1)
			}
		}
	}
	for _, p := range added {
		out.Ports = append(out.Ports, p.Spec.Ports...)
	}
	return &out
}

// SumResources returns the sum of a and b.
func SumResources(a, b *model.Resources) model.Resources {
	sum := model.Resources{MilliCPU: a.MilliCPU + b.MilliCPU, Memory: a.Memory + b.Memory, Ephemeral: a.Ephemeral + b.Ephemeral}
	sum.Scalars = slices.Clone(a.Scalars)
next:
	for _, sc := range b.Scalars {
		for i := range sum.Scalars {
			if sum.Scalars[i].Name == sc.Name {
				sum.Scalars[i].Amount += sc.Amount
				continue next
			}
		}
		sum.Scalars = append(sum.Scalars, sc)
	}
	return sum
}
