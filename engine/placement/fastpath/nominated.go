package fastpath

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// Pods of at least the same priority that are nominated to a node must fit next to the pod. If they affect only
// resources and ports, a score cache includes them, and is updated when they change. Pods of one class differ only on
// a few nodes: the nominated node, nodes reserved for the owner, and nodes that an Avoid Hold excludes. Each decision
// evaluates these nodes for the pod alone.

// isNodeLocal reports whether nominated pods affect the class only through resources and
// ports. Otherwise the reference evaluator decides.
func (ec *equivalenceClass) isNodeLocal() bool {
	return !ec.hasNames && len(ec.hard)+len(ec.affinity)+len(ec.antiAffinity)+len(ec.existingAntiAffinity) == 0
}

// filterWithNominated filters a node with its nominated pods added: those that count for
// the pod, or, without a pod, for all pods of the class. It returns 0 if there are none.
// Their anti-affinity does not count, because kube-scheduler skips the plugin if no
// existing pod has anti-affinity to the pod.
func (ec *equivalenceClass) filterWithNominated(s *cluster.State, id cluster.NodeID, pod *model.Pod) failure {
	list := s.Nominated(id)
	if len(list) == 0 {
		return 0
	}
	n := s.Node(id)
	pods, used, conflict := int64(len(n.Pods)), n.Used, false
	for _, p := range list {
		if pod == nil && p.Spec.Priority < ec.spec.Priority || pod != nil && !cluster.NominationCounts(p, pod) {
			continue
		}
		pods++
		if requests := &p.Spec.Requests; len(ec.scalars) > 0 {
			used = framework.SumResources(&used, requests)
		} else {
			used.MilliCPU, used.Memory, used.Ephemeral = used.MilliCPU+requests.MilliCPU, used.Memory+requests.Memory, used.Ephemeral+requests.Ephemeral
		}
		conflict = conflict || slices.ContainsFunc(ec.ports, func(port model.HostPort) bool { return plugins.PortConflict(p.Spec.Ports, &port) })
	}
	if pods == int64(len(n.Pods)) {
		return 0
	}
	if v := ec.static.Values[id]; v < 0 {
		return failure(v)
	}
	if conflict || slices.ContainsFunc(ec.ports, func(port model.HostPort) bool { return plugins.PortConflict(n.Ports, &port) }) {
		return failure(failPorts)
	}
	return ec.insufficient(pods, &used, n.Model)
}

// insufficient returns the result of NodeResourcesFit for the given usage of a node.
func (ec *equivalenceClass) insufficient(pods int64, used *model.Resources, n *model.Node) failure {
	if !ec.score.filterFit {
		return 0
	}
	var f failure
	if pods >= n.AllocatablePods {
		f |= insufficientPods
	}
	requests, allocatable := &ec.score.requests, &n.Allocatable
	f |= insufficientBit(insufficientCPU, requests.MilliCPU, used.MilliCPU, allocatable.MilliCPU)
	f |= insufficientBit(insufficientMemory, requests.Memory, used.Memory, allocatable.Memory)
	f |= insufficientBit(insufficientEphemeral, requests.Ephemeral, used.Ephemeral, allocatable.Ephemeral)
	for i := range ec.scalars {
		sc := &ec.scalars[i]
		f |= insufficientBit(insufficientScalar<<i, sc.Amount, used.Scalar(sc.Name), allocatable.Scalar(sc.Name))
	}
	return f
}

// filterAll filters a node with and without its nominated pods.
func (ec *equivalenceClass) filterAll(x *cluster.Index, id cluster.NodeID, pod *model.Pod) failure {
	if f := ec.filterWithNominated(x.State(), id, pod); f != 0 {
		return f
	}
	return ec.filter(x, id)
}

// filterForPod filters a node for the current pod.
func (e *Engine) filterForPod(ec *equivalenceClass, id cluster.NodeID) failure {
	if slices.Contains(e.scratch.avoidNodes, id) {
		return failure(failAvoid)
	}
	return ec.filterAll(e.index, id, e.scratch.pod)
}

// collectPodNodes collects the nodes to evaluate for the pod alone.
func (e *Engine) collectPodNodes(pod *model.Pod) {
	sc := &e.scratch
	sc.pod, sc.avoidNodes, sc.podNodes = pod, sc.avoidNodes[:0], sc.podNodes[:0]
	add := func(dst []cluster.NodeID, node string) []cluster.NodeID {
		if id, ok := e.state.NodeID(node); ok && !slices.Contains(dst, id) {
			dst = append(dst, id)
		}
		return dst
	}
	for _, h := range e.state.HoldsOf(pod.Namespace, pod.Owner.UID) {
		if h.Type == model.Avoid {
			sc.avoidNodes = add(sc.avoidNodes, h.Node)
		}
		sc.podNodes = add(sc.podNodes, h.Node)
	}
	if !e.state.AnyNominated() {
		return
	}
	if p := e.state.Pod(pod.UID); p != nil && p.NominatedNodeName != "" {
		sc.podNodes = add(sc.podNodes, p.NominatedNodeName)
	}
}

// filterInScan filters a node in a scan. It filters a marked node for the current pod.
func (e *Engine) filterInScan(ec *equivalenceClass, id cluster.NodeID, marked bool) failure {
	if marked {
		return e.filterForPod(ec, id)
	}
	return ec.filter(e.index, id)
}

// applyPodNodes updates the cache with the results of the nodes that are evaluated for the pod alone.
func (e *Engine) applyPodNodes(c *scoreCache) {
	ranks, _, _ := e.index.Ranks()
	for _, id := range e.scratch.podNodes {
		if f := e.filterForPod(c.class, id); f != 0 {
			c.addFailed(id, ranks[id], f)
		} else {
			c.addToBucket(e.index, id, ranks[id])
		}
	}
}

// revertPodNodes reverts applyPodNodes.
func (e *Engine) revertPodNodes(c *scoreCache) {
	ranks, _, _ := e.index.Ranks()
	for _, id := range e.scratch.podNodes {
		c.place(e.index, id, ranks)
	}
}

// collectFirstNodes collects the nodes to try before all others: the nominated node and
// reserved ones.
func (e *Engine) collectFirstNodes(pod *model.Pod) {
	sc := &e.scratch
	sc.firstNodes = sc.firstNodes[:0]
	if pod.NominatedNodeName != "" {
		if id, ok := e.state.NodeID(pod.NominatedNodeName); ok {
			sc.firstNodes = append(sc.firstNodes, id)
		}
	}
	sc.firstNodes = e.state.AppendReserved(sc.firstNodes, pod)
}

// decideFirstNodes selects the first of scratch.firstNodes that fits, without evaluating
// other nodes. It reports whether one of them fits.
func (e *Engine) decideFirstNodes(ec *equivalenceClass, out *decision.Summary) bool {
	for _, id := range e.scratch.firstNodes {
		if e.filterForPod(ec, id) != 0 {
			continue
		}
		b := &e.scratch.single
		*b = nodeBucket{count: 1, best: id, bestScore: ec.nodeScore(e.index, id)}
		ec.readKey(id, &b.key)
		e.scratch.collected = append(e.scratch.collected[:0], b)
		best := e.evaluateBuckets(ec, e.scratch.collected)
		if best.feasible == 0 {
			continue
		}
		e.counters.Nominated++
		out.Outcome, out.Total, out.Feasible, out.Choice = decision.Scheduled, best.total, 1, e.state.Node(id).Model.Name
		return true
	}
	return false
}
