package fastpath

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// NodeLocalPod is a pod for which nothing counts on a node but what the node is and what
// stands there: no rule over several nodes, no volumes. It is void once the state changes.
type NodeLocalPod struct {
	e     *Engine
	class *equivalenceClass
}

// Failure is why a node is out, for counting.
type Failure int32

// NodeLocal compiles a pod. ok is false when more matters to it.
func (e *Engine) NodeLocal(pod *model.Pod) (l NodeLocalPod, ok bool) {
	e.clock++
	if !e.supports(pod) || framework.HasVolumes(pod.Spec) || e.state.HasAvoidHold(pod) {
		return NodeLocalPod{}, false
	}
	ec := e.classOf(pod)
	ec.lastUsed = e.clock
	if ec.reference || ec.hasNames || len(ec.hard)+len(ec.affinity)+len(ec.antiAffinity) > 0 {
		return NodeLocalPod{}, false
	}
	for i := range ec.existingAntiAffinity {
		if ec.existingAntiAffinity[i].counter.Total > 0 {
			return NodeLocalPod{}, false
		}
	}
	return NodeLocalPod{e, ec}, true
}

// SameClass says whether two pods are the same to every node.
func (l NodeLocalPod) SameClass(o NodeLocalPod) bool { return l.class == o.class }

// Excluded says that a node is out for what it is, whatever stands there.
func (l NodeLocalPod) Excluded(id cluster.NodeID) bool { return l.class.static.Values[id] < 0 }

// Demand are the amounts that must be free on a node, whether the number of pods
// counts as well, and the host ports that must be free; what no rule asks for is left out.
func (l NodeLocalPod) Demand() (amounts model.Resources, counted bool, ports []model.HostPort) {
	if l.class.score.filterFit {
		amounts = l.class.score.want
	}
	amounts.Scalars = l.class.scalars
	return amounts, l.class.score.filterFit, l.class.ports
}

// Filter says why a node is out with so many pods, amounts and ports taken; 0 when it is not.
func (l NodeLocalPod) Filter(n *cluster.NodeInfo, pods int64, used *model.Resources, ports []model.HostPort) Failure {
	if v := l.class.static.Values[n.ID]; v < 0 {
		return Failure(v)
	}
	for i := range l.class.ports {
		if plugins.PortConflict(ports, &l.class.ports[i]) {
			return Failure(failPorts)
		}
	}
	return Failure(l.class.insufficient(pods, used, n.Model))
}

// Code is the verdict behind a Fail.
func (l NodeLocalPod) Code(f Failure) decision.Code { return codeOf(failure(f)) }

// AddReasonCounts counts nodes that are out.
func (l NodeLocalPod) AddReasonCounts(counts []decision.ReasonCount, f Failure, nodes int) []decision.ReasonCount {
	s := decision.Summary{ReasonCounts: counts}
	l.class.addFailureReasons(failureCount{failure(f), nodes}, &s)
	return s.ReasonCounts
}
