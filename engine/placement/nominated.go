package placement

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Pods of at least the pod's priority that are nominated to a node count there,
// too: the node must fit with them and without. They are few and on few nodes, so
// views do not know of them; the nodes concerned are judged again at each decision.

// aheadFail is a node that is out because of the pods that are nominated to it,
// or for more reasons with them.
type aheadFail struct {
	node cluster.NodeID
	fail fail
}

// simplyAhead says whether the nominated pods matter by their requests and ports
// alone, and notes the nodes that are out with them or that the pod is held off.
// Otherwise the plain path knows.
func (e *Engine) simplyAhead(sh *shape, pod *model.Pod) bool {
	sc := &e.scratch
	sc.ahead = sc.ahead[:0]
	if sh.narrowed || len(sh.hard)+len(sh.affine)+len(sh.anti)+len(sh.against) > 0 {
		return false
	}
	sc.nominated = e.state.AppendNominatedNodes(sc.nominated[:0])
	e.noteAvoided(pod)
	for _, id := range sc.nominated {
		if e.noted(id) {
			continue
		}
		if f := e.judgeWith(sh, id, pod); f != 0 {
			sc.ahead = append(sc.ahead, aheadFail{id, f})
		}
	}
	return true
}

// judgeWith judges a node with the pods ahead that are nominated to it; 0 when
// there are none. Their anti-affinity does not count: the plain path, as upstream,
// skips the rule for a pod that no pod there is against.
func (e *Engine) judgeWith(sh *shape, id cluster.NodeID, pod *model.Pod) fail {
	var st site
	for _, p := range e.state.Nominated(id) {
		if !cluster.Ahead(p, pod) {
			continue
		}
		if st.node == nil {
			st = siteOf(e.state.Node(id))
		}
		st = *st.with([]*model.Pod{p}, nil)
	}
	if st.node == nil {
		return 0
	}
	if v := sh.static.Values[id]; v < 0 {
		return fail(v)
	}
	for i := range sh.ports {
		if clash(st.ports, &sh.ports[i]) {
			return fail(failPorts)
		}
	}
	return sh.short(int64(len(st.pods)), st.used, st.node)
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

// judgeAhead is judge, with what simplyAhead has noted.
func (e *Engine) judgeAhead(sh *shape, id cluster.NodeID) fail {
	for _, a := range e.scratch.ahead {
		if a.node == id {
			return a.fail
		}
	}
	return sh.judge(e.index, id)
}

// movedSeat is where a view had a node.
type movedSeat struct {
	node cluster.NodeID
	seat seat
}

// moveAhead seats the nodes that simplyAhead has noted as they are for this
// decision alone.
func (e *Engine) moveAhead(v *view) []movedSeat {
	sc := &e.scratch
	sc.moved = sc.moved[:0]
	for _, a := range sc.ahead {
		old := v.seats[a.node]
		v.leave(old, v.rank(e.index, a.node))
		now := v.failOf(a.fail)
		v.fails[now].nodes++
		v.seats[a.node] = seatOut | seat(now)
		sc.moved = append(sc.moved, movedSeat{a.node, old})
	}
	return sc.moved
}

// moveBack undoes moveAhead.
func (e *Engine) moveBack(v *view, moved []movedSeat) {
	for _, m := range moved {
		rank := v.rank(e.index, m.node)
		v.leave(v.seats[m.node], rank)
		switch {
		case m.seat&seatOut != 0:
			v.fails[m.seat&^seatOut].nodes++
		case m.seat != 0:
			v.join(m.seat.bucket(), m.seat.points(), rank)
		}
		v.seats[m.node] = m.seat
	}
}

func (v *view) rank(x *cluster.Index, id cluster.NodeID) int32 {
	ranks, _, _ := x.Ranks()
	return ranks[id]
}

// decideNominated takes the pod's own nominated node if that fits, without a
// look at others.
func (e *Engine) decideNominated(sh *shape, pod *model.Pod, out *decision.Summary) bool {
	if pod.Nominated == "" {
		return false
	}
	id, known := e.state.NodeID(pod.Nominated)
	if !known || e.judgeAhead(sh, id) != 0 {
		return false
	}
	b := &e.scratch.one[0]
	*b = bucket{count: 1, best: id, points: sh.points(e.index, id)}
	sh.read(id, &b.of)
	best := e.walk(sh, e.scratch.one[:], nil)
	if best.feasible == 0 {
		return false
	}
	e.counters.Nominated++
	out.Outcome, out.Total, out.Feasible, out.Choice = decision.Scheduled, best.total, 1, pod.Nominated
	return true
}
