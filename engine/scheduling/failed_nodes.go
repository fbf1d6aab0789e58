package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
)

// failedNodes is where room could not be made for a pod: nodes with victims that did not leave in
// time, or may not be made to leave. For as long as one of them is there, the node is chosen
// only if no other can be helped. The pod's end is the end of it.
type failedNodes struct {
	uid         string
	nodes       map[string][]string // uids of the victims, by node
	pausedUntil time.Time           // until then no room is made for the pod; zero: it does not rest
}

func (f *failedNodes) due() time.Time { return f.pausedUntil }
func (f *failedNodes) pod() string    { return f.uid }

// addFailedNode notes that victims on a nominee's node do not leave.
func (m *Machine) addFailedNode(n *nomination, victims []*model.Pod) *failedNodes {
	f := m.failedNodes[n.uid]
	if f == nil {
		f = &failedNodes{uid: n.uid, nodes: map[string][]string{}}
		m.failedNodes[n.uid] = f
	}
	var uids []string
	for _, v := range victims {
		uids = append(uids, v.UID)
	}
	f.nodes[n.node] = uids
	return f
}

// preemptionPaused says whether no room is made for a pod for now.
func (m *Machine) preemptionPaused(uid string) bool {
	f := m.failedNodes[uid]
	return f != nil && !f.pausedUntil.IsZero()
}

// resumePreemption has a pod tried again for which no room was made for a while.
func (m *Machine) resumePreemption(now time.Time, f *failedNodes) {
	f.pausedUntil = time.Time{}
	m.activate(now, f.uid)
}

// nodeFailed says whether a pod has forsaken a node.
func (m *Machine) nodeFailed(uid, node string) bool {
	f := m.failedNodes[uid]
	return f != nil && slices.ContainsFunc(f.nodes[node], func(victim string) bool {
		v := m.state.Pod(victim)
		return occupiesNode(v) && v.NodeName == node
	})
}

// findCandidates are the nodes that preemption could make fit, given the record of a pod that is
// Infeasible, and the choice among them: without those forsaken, if there are others.
func (m *Machine) findCandidates(pod *model.Pod, placer Explainer, rec *decision.Record) ([]Candidate, *decision.Preemption) {
	all, p := placer.FindCandidates(pod, rec)
	if p.Outcome != decision.PreemptionNominated {
		return all, p
	}
	left := slices.DeleteFunc(slices.Clone(all), func(c Candidate) bool { return m.nodeFailed(pod.UID, c.Node) })
	if len(left) == len(all) {
		return all, p
	}
	if other := placer.SelectCandidate(pod, left); other.Outcome == decision.PreemptionNominated {
		return left, other
	}
	return all, p
}

// terminatingVictims are the pods that are leaving a pod's nominated node for its sake.
func (m *Machine) terminatingVictims(pod *model.Pod) (list []*model.Pod) {
	id, ok := m.state.NodeID(pod.NominatedNodeName)
	if !ok {
		return nil
	}
	for _, v := range m.state.Node(id).Pods {
		if v.Spec.Priority < pod.Spec.Priority && displacement.Preemption.IsTerminating(v) {
			list = append(list, v)
		}
	}
	return list
}

// maxGraceSeconds is more than anybody waits, and small enough to count with.
const maxGraceSeconds = 10 * 365 * 24 * 60 * 60

// victimsTimeout is how long a nominee's victims may take: the longest grace that any of them has,
// and Config.VictimsTimeout.
func (m *Machine) victimsTimeout(victims []*model.Pod) time.Duration {
	var grace int64
	for _, v := range victims {
		grace = max(grace, v.GraceSeconds)
	}
	return time.Duration(min(grace, maxGraceSeconds))*time.Second + m.cfg.VictimsTimeout
}
