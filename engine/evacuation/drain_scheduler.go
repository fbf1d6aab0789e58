package evacuation

import (
	"strings"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// pendingTracker tracks changes of the pending pods.
type pendingTracker struct {
	signature string    // of the pending pods and their states
	since     time.Time // last change
}

func (t *pendingTracker) observe(now time.Time, v *View) {
	var b strings.Builder
	for _, p := range v.Pending() {
		b.WriteString(p.UID + "/" + p.NominatedNodeName + "/" + p.UnschedulableReason + "\n")
	}
	if s := b.String(); s != t.signature || t.since.IsZero() {
		t.signature, t.since = s, now
	}
}

// maxPendingChecked is the number of pending pods evaluated, the oldest first.
const maxPendingChecked = 200

// schedulerIdle reports whether the scheduler has nothing to do: no pending pod fits a node and no preemption is in
// progress. A pod that stays pending for Timeouts.SchedulerIdle although it seems to fit is ignored from then on, since
// its scheduler may use other rules.
func (d *Drain) schedulerIdle(t *step) bool {
	for i, p := range d.view.Pending() {
		if i == maxPendingChecked {
			break
		}
		if d.stuckPods[p.UID] || d.isUnschedulable(p) {
			continue
		}
		if !t.isOver(d.pendingTracker.since, d.timeouts.SchedulerIdle) {
			return false
		}
		d.stuckPods[p.UID] = true
	}
	return true
}

// isUnschedulable reports whether the scheduler has nothing to do for a pending pod. The pod has an unknown scheduler, is
// being deleted, has a scheduling gate, or fits on no node, even after a preemption.
func (d *Drain) isUnschedulable(p *model.Pod) bool {
	placer := d.placers[p.Spec.SchedulerName]
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

// chooseNode returns the node that p would get, or "".
func chooseNode(placer profiles.Placer, p *model.Pod) string {
	var s decision.Summary
	placer.Decide(p, &s)
	if s.Outcome != decision.Scheduled {
		return ""
	}
	return s.Choice
}
