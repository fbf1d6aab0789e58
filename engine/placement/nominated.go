package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Pods of at least the pod's priority that are nominated to a node count there,
// too: the node must fit with them and without. Where they matter by their requests and
// ports alone, a view has every node as it is beside them, and looks again when they
// change. That differs between pods of one shape only on the few nodes that a pod
// is nominated to itself, that are reserved for its owner, or that it is held off: those are
// judged for it alone at each decision.

// lone says whether nominated pods can matter to the shape by their requests and
// ports alone. Otherwise the plain path knows.
func (sh *shape) lone() bool {
	return !sh.narrowed && len(sh.hard)+len(sh.affine)+len(sh.anti)+len(sh.against) == 0
}

// beside judges a node with the pods on it that are nominated to it and ahead: of the
// pod, or, without one, of any of the shape. It is 0 when there are none. Their
// anti-affinity does not count: the plain path, as upstream, skips the rule for a pod that no
// pod there is against.
func (sh *shape) beside(s *cluster.State, id cluster.NodeID, pod *model.Pod) fail {
	list := s.Nominated(id)
	if len(list) == 0 {
		return 0
	}
	n := s.Node(id)
	pods, used, clashes := int64(len(n.Pods)), n.Used, false
	for _, p := range list {
		if pod == nil && p.Spec.Priority < sh.spec.Priority || pod != nil && !cluster.Ahead(p, pod) {
			continue
		}
		pods++
		if want := &p.Spec.Requests; len(sh.scalars) > 0 {
			used = plus(&used, want)
		} else {
			used.MilliCPU, used.Memory, used.Ephemeral = used.MilliCPU+want.MilliCPU, used.Memory+want.Memory, used.Ephemeral+want.Ephemeral
		}
		clashes = clashes || slices.ContainsFunc(sh.ports, func(port model.HostPort) bool { return clash(p.Spec.Ports, &port) })
	}
	if pods == int64(len(n.Pods)) {
		return 0
	}
	if v := sh.static.Values[id]; v < 0 {
		return fail(v)
	}
	if clashes || slices.ContainsFunc(sh.ports, func(port model.HostPort) bool { return clash(n.Ports, &port) }) {
		return fail(failPorts)
	}
	return sh.short(pods, &used, n.Model)
}

// short is the fit rule on a node with more on it than its row says.
func (sh *shape) short(pods int64, used *model.Requests, n *model.Node) fail {
	if !sh.score.fits {
		return 0
	}
	var f fail
	if pods >= n.Pods {
		f |= shortPods
	}
	want, alloc := &sh.score.want, &n.Allocatable
	f |= lacks(shortCPU, want.MilliCPU, used.MilliCPU, alloc.MilliCPU)
	f |= lacks(shortMemory, want.Memory, used.Memory, alloc.Memory)
	f |= lacks(shortEphemeral, want.Ephemeral, used.Ephemeral, alloc.Ephemeral)
	for i := range sh.scalars {
		sc := &sh.scalars[i]
		f |= lacks(shortScalar<<i, sc.Amount, used.Scalar(sc.Name), alloc.Scalar(sc.Name))
	}
	return f
}

// judgeBeside is judge, beside the nominated pods.
func (sh *shape) judgeBeside(x *cluster.Index, id cluster.NodeID, pod *model.Pod) fail {
	if f := sh.beside(x.State(), id, pod); f != 0 {
		return f
	}
	return sh.judge(x, id)
}

// judgeFor is judge for the pod that is decided about.
func (e *Engine) judgeFor(sh *shape, id cluster.NodeID) fail {
	if slices.Contains(e.scratch.avoided, id) {
		return fail(failAvoid)
	}
	return sh.judgeBeside(e.index, id, e.scratch.pod)
}

// noteApart notes the nodes that are to be judged for the pod alone.
func (e *Engine) noteApart(pod *model.Pod) {
	sc := &e.scratch
	sc.pod, sc.avoided, sc.apart = pod, sc.avoided[:0], sc.apart[:0]
	note := func(to []cluster.NodeID, node string) []cluster.NodeID {
		if id, known := e.state.NodeID(node); known && !slices.Contains(to, id) {
			to = append(to, id)
		}
		return to
	}
	for _, h := range e.state.HoldsOf(pod.Namespace, pod.Owner.UID) {
		if h.Type == model.Avoid {
			sc.avoided = note(sc.avoided, h.Node)
		}
		sc.apart = note(sc.apart, h.Node)
	}
	if !e.state.AnyNominated() {
		return
	}
	if p := e.state.Pod(pod.UID); p != nil && p.Nominated != "" {
		sc.apart = note(sc.apart, p.Nominated)
	}
}

// judgeIn is judge in a scan: beside nominated pods where the node is marked.
func (e *Engine) judgeIn(sh *shape, id cluster.NodeID, marked bool) fail {
	if marked {
		return e.judgeFor(sh, id)
	}
	return sh.judge(e.index, id)
}

// seatApart seats the nodes that are to be judged for the pod alone as they are for it.
func (e *Engine) seatApart(v *view) {
	ranks, _, _ := e.index.Ranks()
	for _, id := range e.scratch.apart {
		if f := e.judgeFor(v.owner, id); f != 0 {
			v.out(id, ranks[id], f)
		} else {
			v.seat(e.index, id, ranks[id])
		}
	}
}

// seatBack undoes seatApart.
func (e *Engine) seatBack(v *view) {
	ranks, _, _ := e.index.Ranks()
	for _, id := range e.scratch.apart {
		v.place(e.index, id, ranks)
	}
}

// noteFirst notes the nodes that are tried before all others: the one that the pod is nominated to, and those
// that are held for it.
func (e *Engine) noteFirst(pod *model.Pod) {
	sc := &e.scratch
	sc.first = sc.first[:0]
	if pod.Nominated != "" {
		if id, known := e.state.NodeID(pod.Nominated); known {
			sc.first = append(sc.first, id)
		}
	}
	sc.first = e.state.AppendReserved(sc.first, pod)
}

// decideFirst takes the first of the noted nodes that fits, without a look at others.
func (e *Engine) decideFirst(sh *shape, out *decision.Summary) bool {
	for _, id := range e.scratch.first {
		if e.judgeFor(sh, id) != 0 {
			continue
		}
		b := &e.scratch.one
		*b = bucket{count: 1, best: id, points: sh.points(e.index, id)}
		sh.read(id, &b.of)
		e.scratch.walked = append(e.scratch.walked[:0], b)
		best := e.walk(sh, e.scratch.walked)
		if best.feasible == 0 {
			continue
		}
		e.counters.Nominated++
		out.Outcome, out.Total, out.Feasible, out.Choice = decision.Scheduled, best.total, 1, e.state.Node(id).Model.Name
		return true
	}
	return false
}
