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
func (st *CandidateNode) With(added, removed []*model.Pod) *CandidateNode {
	c := *st
	c.Added, c.Removed = append(slices.Clone(st.Added), added...), append(slices.Clone(st.Removed), removed...)
	c.Pods = slices.DeleteFunc(slices.Clone(st.Pods), func(p *model.Pod) bool {
		return slices.ContainsFunc(removed, func(r *model.Pod) bool { return r.UID == p.UID })
	})
	c.Pods = append(c.Pods, added...)
	c.Used, c.Scoring = &model.Resources{}, &model.Resources{}
	for _, p := range c.Pods {
		*c.Used = SumResources(c.Used, &p.Spec.Requests)
		*c.Scoring = SumResources(c.Scoring, &p.Spec.Scoring)
	}
	c.Ports = slices.Clone(st.Ports)
	for _, p := range removed {
		for _, port := range p.Spec.Ports {
			if i := slices.Index(c.Ports, port); i >= 0 {
				c.Ports = slices.Delete(c.Ports, i, i+1)
			}
		}
	}
	for _, p := range added {
		c.Ports = append(c.Ports, p.Spec.Ports...)
	}
	return &c
}

// SumResources returns the sum of two amounts.
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
