package fastpath

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// NodeLocalPod is a pod for which each node can be evaluated independently: no plugin
// counts pods on other nodes, and there are no volumes. It is invalid once the state changes.
type NodeLocalPod struct {
	e     *Engine
	class *equivalenceClass
}

// Failure is why a node is rejected; 0 if it is not.
type Failure int32

// NodeLocal returns the NodeLocalPod of a pod. ok is false if the fast path does not support the pod. It is also false
// if the verdict on a node depends on other nodes, volumes or Holds.
func (e *Engine) NodeLocal(pod *model.Pod) (l NodeLocalPod, ok bool) {
	e.clock++
	if !e.supports(pod) || framework.HasVolumes(pod.Spec) || e.state.HasAvoidHold(pod) {
		return NodeLocalPod{}, false
	}
	ec := e.classOf(pod)
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

// SameClass reports whether two pods get the same verdict on every node.
func (l NodeLocalPod) SameClass(o NodeLocalPod) bool { return l.class == o.class }

// Excluded reports whether a node is rejected regardless of its pods.
func (l NodeLocalPod) Excluded(id cluster.NodeID) bool { return l.class.static.Values[id] < 0 }

// Demand returns the resources and host ports that must be free on a node, as far as plugins check them. It also
// returns whether the number of pods is checked.
func (l NodeLocalPod) Demand() (amounts model.Resources, counted bool, ports []model.HostPort) {
	if l.class.score.filterFit {
		amounts = l.class.score.requests
	}
	amounts.Scalars = l.class.scalars
	return amounts, l.class.score.filterFit, l.class.ports
}

// Filter returns why a node with a number of pods, used resources and ports is rejected; 0
// if it is not.
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

// Code returns the code of a failure.
func (l NodeLocalPod) Code(f Failure) decision.Code { return codeOf(failure(f)) }

// AddReasonCounts adds nodes with a failure to a histogram.
func (l NodeLocalPod) AddReasonCounts(counts []decision.ReasonCount, f Failure, nodes int) []decision.ReasonCount {
	s := decision.Summary{ReasonCounts: counts}
	l.class.addFailureReasons(failureCount{failure(f), nodes}, &s)
	return s.ReasonCounts
}
