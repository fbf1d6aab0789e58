package queueinghints

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// filterNode runs the filters that depend on one node only, most likely rejections first.
// If the pod may preempt, pods of lower priority do not count. It returns NoPlugin if all
// succeed.
func (h *Hints) filterNode(n *cluster.NodeInfo) decision.Plugin {
	f := h.provider.filters
	pod := h.ev.Pod
	switch {
	case f.Has(decision.NodeResourcesFit) && !h.fitsResources(n):
		return decision.NodeResourcesFit
	case f.Has(decision.NodeUnschedulable) && n.Model.Unschedulable && !plugins.Tolerates(h.ev, &plugins.UnschedulableTaint):
		return decision.NodeUnschedulable
	case f.Has(decision.TaintToleration) && plugins.Untolerated(h.ev, n.Model.Taints) != nil:
		return decision.TaintToleration
	case f.Has(decision.NodeAffinity) && !h.matchesNodeAffinity(n.Model):
		return decision.NodeAffinity
	case f.Has(decision.NodePorts) && len(pod.Spec.Ports) > 0 && !h.hasFreePorts(n):
		return decision.NodePorts
	case f.Has(decision.NodeDeclaredFeatures) && !declaresFeatures(n.Model, pod.Spec.Features):
		return decision.NodeDeclaredFeatures
	case h.byHold && h.provider.state.AvoidHold(pod, n.Model.Name) != nil:
		return decision.HoldAvoid
	}
	return decision.NoPlugin
}

func declaresFeatures(n *model.Node, required []string) bool {
	for _, f := range required {
		if !slices.Contains(n.Features, f) {
			return false
		}
	}
	return true
}

func (h *Hints) matchesNodeAffinity(n *model.Node) bool {
	added := &h.provider.profile.Config().AddedAffinity
	if added.HasRequired && !plugins.MatchesAnyTerm(added.Required, n) {
		return false
	}
	_, ok := plugins.MatchesNodeSelector(&h.ev.Pod.Spec.NodeSelector, n)
	return ok
}

func (h *Hints) hasFreePorts(n *cluster.NodeInfo) bool {
	if h.preempts && h.provider.loadBelow(n, h.ev.Pod.Spec.Priority).pods > 0 {
		return true // a victim may use the port
	}
	ports := h.ev.Pod.Spec.Ports
	return !slices.ContainsFunc(ports, func(p model.HostPort) bool { return plugins.PortConflict(n.Ports, &p) })
}

// fitsResources reports whether the node has enough resources for the pod next to pods
// that it cannot preempt.
func (h *Hints) fitsResources(n *cluster.NodeInfo) bool {
	requests := &h.ev.Pod.Spec.Requests
	allocatable := &n.Model.Allocatable
	if requests.MilliCPU > 0 && requests.MilliCPU > allocatable.MilliCPU || requests.Memory > 0 && requests.Memory > allocatable.Memory {
		return false
	}
	var nominated, removed podLoad
	for _, p := range h.provider.state.Nominated(n.ID) {
		if cluster.NominationCounts(p, h.ev.Pod) {
			nominated.add(1, &p.Spec.Requests)
		}
	}
	if h.fitsWith(n, &nominated, &removed) {
		return true
	}
	if !h.preempts {
		return false
	}
	removed = h.provider.loadBelow(n, h.ev.Pod.Spec.Priority)
	return removed.pods > 0 && h.fitsWith(n, &nominated, &removed)
}

// fitsWith reports whether the pod fits a node with the requests of some pods added and of
// others removed.
func (h *Hints) fitsWith(n *cluster.NodeInfo, added, removed *podLoad) bool {
	requests, allocatable := &h.ev.Pod.Spec.Requests, &n.Model.Allocatable
	enough := func(requested, used, allocatable int64) bool {
		return requested <= 0 || requested <= allocatable-used
	}
	if int64(len(n.Pods))+added.pods-removed.pods+1 > n.Model.AllocatablePods ||
		!enough(requests.MilliCPU, n.Used.MilliCPU+added.sum.MilliCPU-removed.sum.MilliCPU, allocatable.MilliCPU) ||
		!enough(requests.Memory, n.Used.Memory+added.sum.Memory-removed.sum.Memory, allocatable.Memory) ||
		!enough(requests.Ephemeral, n.Used.Ephemeral+added.sum.Ephemeral-removed.sum.Ephemeral, allocatable.Ephemeral) {
		return false
	}
	for i := range h.scalars {
		name := h.scalars[i].Name
		if !enough(h.scalars[i].Amount, n.Used.Scalar(name)+added.sum.Scalar(name)-removed.sum.Scalar(name), allocatable.Scalar(name)) {
			return false
		}
	}
	return true
}

// podLoad is the number of several pods and the sum of their requests.
type podLoad struct {
	pods int64
	sum  model.Resources
}

// add adds the sum of the requests of n pods.
func (l *podLoad) add(n int64, r *model.Resources) {
	l.pods += n
	if len(r.Scalars) > 0 {
		l.sum = framework.SumResources(&l.sum, r)
		return
	}
	l.sum.MilliCPU += r.MilliCPU
	l.sum.Memory += r.Memory
	l.sum.Ephemeral += r.Ephemeral
}

// priorityLoads caches the requests of the pods of one node by priority until the state
// changes. Consecutive hints often concern the same node.
type priorityLoads struct {
	node     cluster.NodeID
	revision uint64
	valid    bool
	loads    []priorityLoad // in no particular order
}

type priorityLoad struct {
	priority int32
	podLoad
}

// loadBelow returns the requests of the node's pods with a lower priority.
func (p *Provider) loadBelow(n *cluster.NodeInfo, priority int32) podLoad {
	l := &p.loads
	if !l.valid || l.node != n.ID || l.revision != p.state.Revision() {
		l.valid, l.node, l.revision = true, n.ID, p.state.Revision()
		l.loads = l.loads[:0]
		for _, pod := range n.Pods {
			l.count(pod)
		}
	}
	var out podLoad
	for i := range l.loads {
		if load := &l.loads[i]; load.priority < priority {
			out.add(load.pods, &load.sum)
		}
	}
	return out
}

func (l *priorityLoads) count(p *model.Pod) {
	for i := range l.loads {
		if l.loads[i].priority == p.Spec.Priority {
			l.loads[i].add(1, &p.Spec.Requests)
			return
		}
	}
	l.loads = append(l.loads, priorityLoad{priority: p.Spec.Priority})
	l.loads[len(l.loads)-1].add(1, &p.Spec.Requests)
}
