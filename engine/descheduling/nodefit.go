package descheduling

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// preEvictionFilter says whether the evictor lets a pod go as to where.
func (e *defaultEvictor) preEvictionFilter(p *Pod) bool {
	if e.NamespaceSelector != nil && !e.NamespaceSelector.Matches(e.round.Snapshot.Namespaces[p.Namespace]) {
		return false
	}
	return !e.NodeFit || e.round.Planned() || e.round.FitsAnyOtherNode(p, e.nodes)
}

// FitsAnyOtherNode says whether a pod would fit one of the nodes, its own left out, by nodeFit.
func (r *Round) FitsAnyOtherNode(p *Pod, nodes []*Node) bool {
	return slices.ContainsFunc(nodes, func(n *Node) bool { return n.Name != p.NodeName && r.FitsNode(p, n) })
}

// FitsAnyNode says whether a pod would fit one of the nodes, its own included, by nodeFit.
func (r *Round) FitsAnyNode(p *Pod, nodes []*Node) bool {
	return slices.ContainsFunc(nodes, func(n *Node) bool { return r.FitsNode(p, n) })
}

// FitsNode is nodeFit: whether a pod would fit a node as the Kubernetes descheduler judges it, by selector and required
// affinity, taints, cordon, room for its requests (not asked of its own node), and its own required
// anti-affinity. It knows nothing of pod affinity, spread, ports and volumes.
func (r *Round) FitsNode(p *Pod, n *Node) bool {
	return !n.Unschedulable && MatchesNodeAffinity(p, n) && ToleratesTaints(p, n, IsHardTaint) &&
		(p.NodeName == n.Name || r.FitsRequests(p, n)) && !r.violatesAntiAffinity(p, n)
}

// IsHardTaint are the effects of taints that keep a pod off a node.
func IsHardTaint(t *model.Taint) bool {
	return t.Effect == model.NoSchedule || t.Effect == model.NoExecute
}

// MatchesNodeAffinity says whether a pod's node selector and required node affinity match a node.
func MatchesNodeAffinity(p *Pod, n *Node) bool {
	s := &p.Spec.NodeSelector
	for _, want := range s.Labels {
		if v, there := n.Labels.Get(want.Key); !there || v != want.Value {
			return false
		}
	}
	return !s.HasRequired || slices.ContainsFunc(s.Required, func(t model.NodeSelectorTerm) bool { return t.Matches(n.Labels, n.Name) })
}

// ToleratesTaints says whether a pod tolerates all taints of a node that count.
func ToleratesTaints(p *Pod, n *Node, counts func(*model.Taint) bool) bool {
	for i := range n.Taints {
		t := &n.Taints[i]
		if counts(t) && !slices.ContainsFunc(p.Spec.Tolerations, func(tol model.Toleration) bool { return tol.ToleratesTaint(t, false) }) {
			return false
		}
	}
	return true
}

// FitsRequests says whether a node has what the pod requests, and room for one more pod.
func (r *Round) FitsRequests(p *Pod, n *Node) bool {
	here := r.nodePods.contents[n]
	used, want, have := here.requested(), &p.Spec.Requests, &n.Allocatable
	if n.Node.AllocatablePods-int64(len(here.live)) <= 0 ||
		insufficient(want.MilliCPU, have.MilliCPU, used.MilliCPU) ||
		insufficient(want.Memory, have.Memory, used.Memory) ||
		insufficient(want.Ephemeral, have.Ephemeral, used.Ephemeral) {
		return false
	}
	return !slices.ContainsFunc(want.Scalars, func(s model.Scalar) bool {
		return insufficient(s.Amount, have.Scalar(s.Name), used.Scalar(s.Name))
	})
}

func insufficient(want, have, used int64) bool { return want > 0 && want > have-used }

// violatesAntiAffinity says whether a pod on the node is one that the pod's own required anti-affinity does not bear. Terms by a
// label that the node does not have do not count, nor do pods on other nodes.
func (r *Round) violatesAntiAffinity(p *Pod, n *Node) bool {
	return slices.ContainsFunc(p.Spec.AntiAffinity, func(t model.PodAffinityTerm) bool {
		if _, there := n.Labels.Get(t.TopologyKey); !there {
			return false
		}
		return slices.ContainsFunc(r.nodePods.contents[n].live, func(q *Pod) bool {
			return q != p && MatchesAntiAffinityTerm(p, &t, q)
		})
	})
}

// MatchesAntiAffinityTerm says whether a term of a pod's anti-affinity means another pod, by namespace and labels. As the
// Kubernetes descheduler does, it reads a term's namespaces, or the pod's own, and not its namespace selector.
func MatchesAntiAffinityTerm(p *Pod, t *model.PodAffinityTerm, q *Pod) bool {
	if len(t.Namespaces) == 0 {
		return q.Namespace == p.Namespace && t.Selector.Matches(q.Labels)
	}
	return slices.Contains(t.Namespaces, q.Namespace) && t.Selector.Matches(q.Labels)
}
