package workload

import (
	"fmt"
	"time"
)

// The conditions of a Deployment, and their reasons, as in Kubernetes.
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

// notePaused notes that the Deployment was paused or resumed, unless its rollout has failed already.
func (r *rollout) notePaused() {
	if r.deployment.ProgressDeadline <= 0 || r.deployment.Deleting {
		return
	}
	c := r.conditions.Get(Progressing)
	if c != nil && c.Reason == TimedOutReason {
		return
	}
	was := c != nil && c.Reason == PausedReason
	switch {
	case r.deployment.Paused && !was:
		r.setProgressing(Unknown, PausedReason, "Deployment is paused")
	case !r.deployment.Paused && was:
		r.setProgressing(Unknown, ResumedReason, "Deployment is resumed")
	}
}

// noteFound starts the rollout's clock: when there is a current set of which nothing was said yet, when one is made,
// and when an old one has become the current one again (Kubernetes leaves that last
// rollout without a deadline until it makes progress).
func (r *rollout) noteFound() {
	if r.deployment.ProgressDeadline <= 0 || r.current < 0 {
		return
	}
	c := r.conditions.Get(Progressing)
	returned := false
	if c != nil && c.Reason == NewRSAvailableReason {
		for _, i := range r.old {
			returned = returned || r.sets[i].Replicas > 0
		}
	}
	if c == nil || returned {
		r.setProgressing(True, FoundNewRSReason, fmt.Sprintf("Found new replica set %q", r.name))
	}
}

// setProgressing sets the condition and its time, whatever it was before.
func (r *rollout) setProgressing(s Status, reason, message string) {
	n := Condition{Type: Progressing, Status: s, Reason: reason, Message: message, Updated: r.now, Changed: r.now}
	if old := r.conditions.Get(Progressing); old != nil && old.Status == s {
		n.Changed = old.Changed
	}
	r.conditions = append(r.conditions.Without(Progressing), n)
}

// countStatus are the numbers of the status.
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

// complete says that all is new and available.
func (r *rollout) complete() bool {
	s := r.countStatus()
	return s.Updated == r.deployment.Replicas && s.Replicas == r.deployment.Replicas && s.Available == r.deployment.Replicas
}

// status is what the status is to say. While the Deployment was only scaled, or is paused, nothing is said of progress.
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
		r.judgeProgress(&s)
	}
	if !r.deployment.Deleting {
		r.noteFailure()
	}
	s.Conditions = r.conditions
	return s
}

// judgeProgress judges how the rollout goes.
func (r *rollout) judgeProgress(s *DeploymentStatus) {
	if r.plan.Create {
		r.setProgressing(True, NewReplicaSetReason, fmt.Sprintf("Created new replica set %q", r.name))
	}
	c := r.conditions.Get(Progressing)
	if c != nil && c.Reason == NewRSAvailableReason && s.Replicas == s.Updated {
		return // it was done; that pods fail later is no matter of the rollout
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
		// A second more, since times are written in whole ones.
		r.plan.Wake = earliest(r.plan.Wake, c.Updated.Add(r.deployment.ProgressDeadline+time.Second))
	}
}

// noteFailure shows the failure of a set, of the current one first.
func (r *rollout) noteFailure() {
	var f *Condition
	for _, i := range r.byAge() { // the current one is the last, and the last one counts
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
