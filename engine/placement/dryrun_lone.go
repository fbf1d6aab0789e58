package placement

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Lone is a pod for which nothing counts on a node but what the node is and what
// stands there: no rule over several nodes, no volumes. It is void once the state changes.
type Lone struct {
	e  *Engine
	sh *shape
}

// Fail is why a node is out, for counting.
type Fail int32

// Lone compiles a pod. ok is false when more matters to it.
func (e *Engine) Lone(pod *model.Pod) (l Lone, ok bool) {
	e.clock++
	if !e.covers(pod) || hasVolumes(pod.Spec) || e.state.AnyAvoid(pod) {
		return Lone{}, false
	}
	sh := e.shapeOf(pod)
	sh.used = e.clock
	if sh.plain || sh.narrowed || len(sh.hard)+len(sh.affine)+len(sh.anti) > 0 {
		return Lone{}, false
	}
	for i := range sh.against {
		if sh.against[i].counter.Total > 0 {
			return Lone{}, false
		}
	}
	return Lone{e, sh}, true
}

// Same says whether two pods are the same to every node.
func (l Lone) Same(o Lone) bool { return l.sh == o.sh }

// Barred says that a node is out for what it is, whatever stands there.
func (l Lone) Barred(id cluster.NodeID) bool { return l.sh.static.Values[id] < 0 }

// Wants are the amounts that must be free on a node, whether the number of pods
// counts as well, and the host ports that must be free; what no rule asks for is left out.
func (l Lone) Wants() (amounts model.Requests, counted bool, ports []model.HostPort) {
	if l.sh.score.fits {
		amounts = l.sh.score.want
	}
	amounts.Scalars = l.sh.scalars
	return amounts, l.sh.score.fits, l.sh.ports
}

// Judge says why a node is out with so many pods, amounts and ports taken; 0 when it is not.
func (l Lone) Judge(n *cluster.NodeInfo, pods int64, used *model.Requests, ports []model.HostPort) Fail {
	if v := l.sh.static.Values[n.ID]; v < 0 {
		return Fail(v)
	}
	for i := range l.sh.ports {
		if clash(ports, &l.sh.ports[i]) {
			return Fail(failPorts)
		}
	}
	return Fail(l.sh.short(pods, used, n.Model))
}

// Code is the verdict behind a Fail.
func (l Lone) Code(f Fail) decision.Code { return codeOf(fail(f)) }

// Tell counts nodes that are out.
func (l Lone) Tell(counts []decision.Count, f Fail, nodes int) []decision.Count {
	s := decision.Summary{Counts: counts}
	l.sh.tellFail(failCount{fail(f), nodes}, &s)
	return s.Counts
}
