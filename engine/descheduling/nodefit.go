package descheduling

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// preEvictionFilter reports whether the namespace selector and nodeFit allow the eviction of
// p.
func (e *defaultEvictor) preEvictionFilter(p *Pod) bool {
	if e.NamespaceSelector != nil && !e.NamespaceSelector.Matches(e.round.Snapshot.Namespaces[p.Namespace]) {
		return false
	}
	return !e.NodeFit || e.round.Planned() || e.round.FitsAnyOtherNode(p, e.nodes)
}

// FitsAnyOtherNode reports whether p fits a node other than its own, by nodeFit.
func (r *Round) FitsAnyOtherNode(p *Pod, nodes []*Node) bool {
	return slices.ContainsFunc(nodes, func(n *Node) bool { return n.Name != p.NodeName && r.FitsNode(p, n) })
}

// FitsAnyNode reports whether p fits one of the nodes, by nodeFit.
func (r *Round) FitsAnyNode(p *Pod, nodes []*Node) bool {
	return slices.ContainsFunc(nodes, func(n *Node) bool { return r.FitsNode(p, n) })
}

// FitsNode implements nodeFit as the Kubernetes descheduler does. It checks node selector and
// required affinity, taints, cordon, requests (not on the pod's own node), and the pod's own
// required anti-affinity. It ignores pod affinity, topology spread, ports and volumes.
func (r *Round) FitsNode(p *Pod, n *Node) bool {
	return !n.Unschedulable && MatchesNodeAffinity(p, n) && ToleratesTaints(p, n, IsHardTaint) &&
		(p.NodeName == n.Name || r.FitsRequests(p, n)) && !r.violatesAntiAffinity(p, n)
}

// IsHardTaint reports whether a taint can keep pods off a node.
func IsHardTaint(t *model.Taint) bool {
	return t.Effect == model.NoSchedule || t.Effect == model.NoExecute
}

// MatchesNodeAffinity reports whether n matches the node selector and required node affinity
// of p.
func MatchesNodeAffinity(p *Pod, n *Node) bool {
	s := &p.Spec.NodeSelector
	for _, want := range s.Labels {
		if v, found := n.Labels.Get(want.Key); !found || v != want.Value {
			return false
		}
	}
	return !s.HasRequired || slices.ContainsFunc(s.Required, func(t model.NodeSelectorTerm) bool { return t.Matches(n.Labels, n.Name) })
}

// ToleratesTaints reports whether p tolerates all taints of n for which counts returns true.
func ToleratesTaints(p *Pod, n *Node, counts func(*model.Taint) bool) bool {
	for i := range n.Taints {
		t := &n.Taints[i]
		if counts(t) && !slices.ContainsFunc(p.Spec.Tolerations, func(tol model.Toleration) bool { return tol.ToleratesTaint(t, false) }) {
			return false
		}
	}
	return true
}

// FitsRequests reports whether n has the free resources and the pod slot that p requests.
func (r *Round) FitsRequests(p *Pod, n *Node) bool {
	contents := r.nodePods.contents[n]
	used, requested, allocatable := contents.requested(), &p.Spec.Requests, &n.Allocatable
	if n.Node.AllocatablePods-int64(len(contents.unfinished)) <= 0 ||
		insufficient(requested.MilliCPU, allocatable.MilliCPU, used.MilliCPU) ||
		insufficient(requested.Memory, allocatable.Memory, used.Memory) ||
		insufficient(requested.Ephemeral, allocatable.Ephemeral, used.Ephemeral) {
		return false
	}
	return !slices.ContainsFunc(requested.Scalars, func(s model.Scalar) bool {
		return insufficient(s.Amount, allocatable.Scalar(s.Name), used.Scalar(s.Name))
	})
}

func insufficient(requested, allocatable, used int64) bool {
	return requested > 0 && requested > allocatable-used
}

// violatesAntiAffinity reports whether a pod on n matches a required anti-affinity term of p.
// Terms whose topology key n lacks, and pods on other nodes, are ignored.
func (r *Round) violatesAntiAffinity(p *Pod, n *Node) bool {
	return slices.ContainsFunc(p.Spec.AntiAffinity, func(t model.PodAffinityTerm) bool {
		if _, found := n.Labels.Get(t.TopologyKey); !found {
			return false
		}
		return slices.ContainsFunc(r.nodePods.contents[n].unfinished, func(q *Pod) bool {
			return q != p && MatchesAntiAffinityTerm(p, &t, q)
		})
	})
}

// MatchesAntiAffinityTerm reports whether q matches an anti-affinity term of p by namespace
// and labels. As in the Kubernetes descheduler, the term's namespace selector is ignored.
func MatchesAntiAffinityTerm(p *Pod, t *model.PodAffinityTerm, q *Pod) bool {
	if len(t.Namespaces) == 0 {
		return q.Namespace == p.Namespace && t.Selector.Matches(q.Labels)
	}
	return slices.Contains(t.Namespaces, q.Namespace) && t.Selector.Matches(q.Labels)
}
