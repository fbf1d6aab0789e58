package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// preemptionFailures are the nodes where preemption for a pod failed: victims did not terminate in time or
// could not be evicted. While such a victim is on the node, preemption chooses the node only if no other
// node is a candidate.
type preemptionFailures struct {
	uid         string              // of the preemptor
	nodes       map[string][]string // UIDs of the victims, by node
	pausedUntil time.Time           // end of the pause of preemption for the pod; zero if there is no pause
}

func (f *preemptionFailures) due() time.Time { return f.pausedUntil }
func (f *preemptionFailures) podUID() string { return f.uid }

// addPreemptionFailure records that preemption of the victims on the nominated node failed.
func (m *Machine) addPreemptionFailure(n *nomination, victims []*model.Pod) *preemptionFailures {
	f := m.preemptionFailures[n.uid]
	if f == nil {
		f = &preemptionFailures{uid: n.uid, nodes: map[string][]string{}}
		m.preemptionFailures[n.uid] = f
	}
	var uids []string
	for _, v := range victims {
		uids = append(uids, v.UID)
	}
	f.nodes[n.node] = uids
	return f
}

// preemptionPaused reports whether preemption for the pod is paused.
func (m *Machine) preemptionPaused(uid string) bool {
	f := m.preemptionFailures[uid]
	return f != nil && !f.pausedUntil.IsZero()
}

// resumePreemption activates a pod whose preemption was paused.
func (m *Machine) resumePreemption(now time.Time, f *preemptionFailures) {
	f.pausedUntil = time.Time{}
	m.activate(now, f.uid)
}

// preemptionFailed reports whether preemption for the pod failed on the node and a victim is still on it.
func (m *Machine) preemptionFailed(uid, node string) bool {
	f := m.preemptionFailures[uid]
	return f != nil && slices.ContainsFunc(f.nodes[node], func(victim string) bool {
		v := m.state.Pod(victim)
		return occupiesNode(v) && v.NodeName == node
	})
}

// findCandidates returns the preemption candidates for an infeasible pod and the selected one.
// It omits the nodes where preemption failed, if there are others.
func (m *Machine) findCandidates(pod *model.Pod, placer profiles.Explainer, rec *decision.Record) ([]profiles.Candidate, *decision.Preemption) {
	all, p := placer.FindCandidates(pod, rec)
	if p.Outcome != decision.PreemptionNominated {
		return all, p
	}
	remaining := slices.DeleteFunc(slices.Clone(all), func(c profiles.Candidate) bool { return m.preemptionFailed(pod.UID, c.Node) })
	if len(remaining) == len(all) {
		return all, p
	}
	if other := placer.SelectCandidate(pod, remaining); other.Outcome == decision.PreemptionNominated {
		return remaining, other
	}
	return all, p
}

// terminatingVictims returns the lower-priority pods that terminate on the pod's nominated node because of
// preemption.
func (m *Machine) terminatingVictims(pod *model.Pod) []*model.Pod {
	return m.victimsOn(pod.NominatedNodeName, pod.Spec.Priority)
}

// victimsOn returns the pods below a priority that terminate on a node because of preemption.
func (m *Machine) victimsOn(node string, priority int32) (list []*model.Pod) {
	id, ok := m.state.NodeID(node)
	if !ok {
		return nil
	}
	for _, v := range m.state.Node(id).Pods {
		if v.Spec.Priority < priority && displacement.Preemption.IsTerminating(v) {
			list = append(list, v)
		}
	}
	return list
}

// maxGraceSeconds caps grace periods so that sums do not overflow.
const maxGraceSeconds = 10 * 365 * 24 * 60 * 60

// victimsTimeout returns how long the victims may take: the longest of their grace periods plus
// Config.VictimsTimeout.
func (m *Machine) victimsTimeout(victims []*model.Pod) time.Duration {
	var grace int64
	for _, v := range victims {
		grace = max(grace, v.GraceSeconds)
	}
	return time.Duration(min(grace, maxGraceSeconds))*time.Second + m.cfg.VictimsTimeout
}
