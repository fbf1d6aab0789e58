package drain

import (
	"strings"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// pendingTracker watches the pods that wait for a node.
type pendingTracker struct {
	signature string    // of who waits, and what is known of each
	since     time.Time // when it changed last
}

func (u *pendingTracker) observe(now time.Time, v *View) {
	var b strings.Builder
	for _, p := range v.Pending() {
		b.WriteString(p.UID + "/" + p.NominatedNodeName + "/" + p.UnschedulableReason + "\n")
	}
	if s := b.String(); s != u.signature || u.since.IsZero() {
		u.signature, u.since = s, now
	}
}

// maxPendingChecked is how many waiting pods are looked at, beginning with the oldest.
const maxPendingChecked = 200

// schedulerIdle says whether the scheduler has nothing to do: all pods that wait are known to fit
// nowhere, and nobody is making room for one. A pod that still waits after Patience.Rest
// without news is not waited for any more, as when the scheduler's rules are not ours.
func (m *Machine) schedulerIdle(now time.Time, v *View) (wake time.Time, ok bool) {
	until := m.pendingTracker.since.Add(m.timeouts.SchedulerIdle)
	for i, p := range v.Pending() {
		if i == maxPendingChecked {
			break
		}
		if m.stuckPods[p.UID] || m.isSettled(p) {
			continue
		}
		if now.Before(until) {
			return until, false
		}
		m.stuckPods[p.UID] = true
	}
	return time.Time{}, true
}

// isSettled says that a waiting pod has been looked at and could get no node now.
func (m *Machine) isSettled(p *model.Pod) bool {
	placer := m.placers[p.Spec.SchedulerName]
	if placer == nil || p.Deleting || placer.Gate(p) != nil {
		return true
	}
	if p.UnschedulableReason == "" || p.NominatedNodeName != "" {
		return false
	}
	var s decision.Summary
	placer.Decide(p, &s)
	if s.Outcome != decision.Infeasible {
		return s.Outcome != decision.Scheduled
	}
	plan := placer.Preempt(p, &s)
	return plan == nil || plan.Outcome != decision.PreemptionNominated
}

// chooseNode is the node that a pod would get; empty: none.
func chooseNode(placer profiles.Placer, p *model.Pod) string {
	var s decision.Summary
	placer.Decide(p, &s)
	if s.Outcome != decision.Scheduled {
		return ""
	}
	return s.Choice
}

// newReplica is a copy of a pod as its owner makes one.
func newReplica(p *model.Pod, name, uid string) *model.Pod {
	return &model.Pod{Namespace: p.Namespace, Name: name, UID: uid, Labels: p.Labels, Spec: p.Spec, Owner: p.Owner, HasEmptyDir: p.HasEmptyDir}
}
