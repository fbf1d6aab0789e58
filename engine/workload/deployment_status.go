package workload

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/order"
)

// Condition types and reasons of a Deployment, as in Kubernetes.
const (
	Available   = "Available"
	Progressing = "Progressing"

	MinimumReplicasAvailable   = "MinimumReplicasAvailable"
	MinimumReplicasUnavailable = "MinimumReplicasUnavailable"
	NewReplicaSetReason        = "NewReplicaSetCreated"
	FoundNewRSReason           = "FoundNewReplicaSet"
	ReplicaSetUpdatedReason    = "ReplicaSetUpdated"
	NewRSAvailableReason       = "NewReplicaSetAvailable"
	FailedRSCreateReason       = "ReplicaSetCreateError"
	TimedOutReason             = "ProgressDeadlineExceeded"
	PausedReason               = "DeploymentPaused"
	ResumedReason              = "DeploymentResumed"
)

// setPausedCondition sets the condition Progressing when the Deployment was paused or resumed, unless its rollout
// has timed out.
func (r *rollout) setPausedCondition() {
	if r.deployment.ProgressDeadline <= 0 || r.deployment.Deleting {
		return
	}
	c := r.conditions.Get(Progressing)
	if c != nil && c.Reason == TimedOutReason {
		return
	}
	wasPaused := c != nil && c.Reason == PausedReason
	switch {
	case r.deployment.Paused && !wasPaused:
		r.setProgressing(Unknown, PausedReason, "Deployment is paused")
	case !r.deployment.Paused && wasPaused:
		r.setProgressing(Unknown, ResumedReason, "Deployment is resumed")
	}
}

// startProgressDeadline starts the progress deadline when the Deployment has no condition Progressing yet, and when
// an old set became current again. In the latter case upstream has no deadline until the rollout progresses.
func (r *rollout) startProgressDeadline() {
	if r.deployment.ProgressDeadline <= 0 || r.current < 0 {
		return
	}
	c := r.conditions.Get(Progressing)
	reactivated := false
	if c != nil && c.Reason == NewRSAvailableReason {
		for _, i := range r.old {
			reactivated = reactivated || r.sets[i].Replicas > 0
		}
	}
	if c == nil || reactivated {
		r.setProgressing(True, FoundNewRSReason, fmt.Sprintf("Found new replica set %q", r.name))
	}
}

// setProgressing sets the condition Progressing and its update time.
func (r *rollout) setProgressing(s Status, reason, message string) {
	n := Condition{Type: Progressing, Status: s, Reason: reason, Message: message, Updated: r.now, Changed: r.now}
	if old := r.conditions.Get(Progressing); old != nil && old.Status == s {
		n.Changed = old.Changed
	}
	r.conditions = append(r.conditions.Without(Progressing), n)
}

// countStatus returns the numbers of the status.
func (r *rollout) countStatus() DeploymentStatus {
	s := DeploymentStatus{Observed: r.deployment.Generation}
	var total int32
	for i := range r.sets {
		set := &r.sets[i]
		total += set.Replicas
		s.Replicas += set.Actual
		s.Ready += set.Ready
		s.Available += set.Available
		s.Terminating += set.Terminating
	}
	if r.current >= 0 {
		s.Updated = r.sets[r.current].Actual
	}
	s.Unavailable = max(0, total-s.Available)
	return s
}

// complete reports whether all pods are updated and available.
func (r *rollout) complete() bool {
	s := r.countStatus()
	return s.Updated == r.deployment.Replicas && s.Replicas == r.deployment.Replicas && s.Available == r.deployment.Replicas
}

// status returns the new status. While the Deployment is paused or being deleted, it does not
// evaluate the progress.
func (r *rollout) status() DeploymentStatus {
	s := r.countStatus()
	n := Condition{Type: Available, Status: False, Reason: MinimumReplicasUnavailable, Message: "Deployment does not have minimum availability."}
	if s.Available >= r.deployment.minAvailable() {
		n = Condition{Type: Available, Status: True, Reason: MinimumReplicasAvailable, Message: "Deployment has minimum availability."}
	}
	r.conditions = r.conditions.With(r.now, n)
	if r.deployment.ProgressDeadline <= 0 {
		r.conditions = r.conditions.Without(Progressing)
	} else if !r.deployment.Deleting && !r.deployment.Paused {
		r.updateProgress(&s)
	}
	if !r.deployment.Deleting {
		r.setFailureCondition()
	}
	s.Conditions = r.conditions
	return s
}

// updateProgress updates the Progressing condition.
func (r *rollout) updateProgress(s *DeploymentStatus) {
	if r.plan.Create {
		r.setProgressing(True, NewReplicaSetReason, fmt.Sprintf("Created new replica set %q", r.name))
	}
	c := r.conditions.Get(Progressing)
	if c != nil && c.Reason == NewRSAvailableReason && s.Replicas == s.Updated {
		return // the rollout was complete; later pod failures do not matter
	}
	old := &r.deployment.Status
	switch {
	case r.complete() && r.current >= 0:
		if c == nil || c.Reason != NewRSAvailableReason {
			r.setProgressing(True, NewRSAvailableReason, fmt.Sprintf("ReplicaSet %q has successfully progressed.", r.name))
		}
		return
	case s.Updated > old.Updated || s.Replicas-s.Updated < old.Replicas-old.Updated || s.Ready > old.Ready || s.Available > old.Available:
		r.setProgressing(True, ReplicaSetUpdatedReason, fmt.Sprintf("ReplicaSet %q is progressing.", r.name))
	case c == nil || c.Reason == TimedOutReason || c.Reason == NewRSAvailableReason:
	case r.now.After(c.Updated.Add(r.deployment.ProgressDeadline)):
		r.setProgressing(False, TimedOutReason, fmt.Sprintf("ReplicaSet %q has timed out progressing.", r.name))
	}
	if c = r.conditions.Get(Progressing); c != nil && c.Reason != TimedOutReason && c.Reason != NewRSAvailableReason {
		// Add a second, because times are stored in whole seconds.
		r.plan.Wake = order.Earliest(r.plan.Wake, c.Updated.Add(r.deployment.ProgressDeadline+time.Second))
	}
}

// setFailureCondition copies the failure of a set, preferably the current one.
func (r *rollout) setFailureCondition() {
	var f *Condition
	for _, i := range r.byAge() { // the current set is last and takes precedence
		if r.sets[i].Failure != nil {
			f = r.sets[i].Failure
		}
	}
	if f == nil {
		r.conditions = r.conditions.Without(ReplicaFailure)
		return
	}
	r.conditions = r.conditions.With(r.now, Condition{Type: ReplicaFailure, Status: f.Status, Reason: f.Reason, Message: f.Message})
}
