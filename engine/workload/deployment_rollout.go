package workload

import (
	"cmp"
	"slices"
)

// rollingUpdate takes the next step of a rolling update: it creates new pods within maxSurge and
// deletes old ones within maxUnavailable.
func (r *rollout) rollingUpdate() {
	d := r.deployment
	observed := r.areObserved()
	switch {
	case r.current < 0:
		r.plan.Create, r.plan.CreateReplicas = true, min(r.headroom(), d.Replicas)
	default:
		r.scaleUpNew()
	}
	if observed {
		r.scaleDownOld()
	}
	if r.current >= 0 && r.complete() {
		r.cleanupHistory()
	}
}

// scaleUpNew scales the current set toward the Deployment's replicas.
func (r *rollout) scaleUpNew() {
	s := &r.sets[r.current]
	to := s.Replicas
	if to < r.deployment.Replicas {
		to += min(r.headroom(), r.deployment.Replicas-to)
	} else {
		to = r.deployment.Replicas
	}
	if to != s.Replicas || s.Desired != r.deployment.Replicas || s.Max != r.deployment.Replicas+r.deployment.MaxSurge {
		r.setReplicas(r.current, to)
	}
}

// scaleDownOld scales old sets down, oldest first: unavailable pods, then as many available ones as
// minAvailable permits.
func (r *rollout) scaleDownOld() {
	var all, available, newUnavailable int32
	for i := range r.sets {
		all += r.sets[i].Replicas
		available += r.sets[i].available()
	}
	if r.current >= 0 {
		newUnavailable = r.sets[r.current].Replicas - r.sets[r.current].available()
	}
	// New pods that are not available yet need time, so they do not permit deleting old ones.
	surplus := all - r.deployment.minAvailable() - newUnavailable
	for _, i := range r.old {
		s := &r.sets[i]
		if n := min(surplus, s.Replicas-s.available()); n > 0 {
			r.setReplicas(i, s.Replicas-n)
			surplus -= n
		}
	}
	surplus = min(surplus, available-r.deployment.minAvailable())
	for _, i := range r.old {
		s := &r.sets[i]
		if n := min(surplus, s.Replicas); n > 0 {
			r.setReplicas(i, s.Replicas-n)
			surplus -= n
		}
	}
}

// recreate terminates all old pods before it creates new ones.
func (r *rollout) recreate(oldPods bool) {
	waiting := oldPods
	for _, i := range r.old {
		if s := &r.sets[i]; s.Replicas > 0 {
			r.setReplicas(i, 0)
			waiting = true
		} else if s.Actual > 0 || !s.Observed {
			waiting = true
		}
	}
	switch {
	case r.current >= 0 && r.sets[r.current].Replicas > r.deployment.Replicas:
		r.setReplicas(r.current, r.deployment.Replicas)
	case waiting:
	case r.current < 0:
		r.plan.Create, r.plan.CreateReplicas = true, r.deployment.Replicas
	default:
		r.scaleUpNew()
	}
	if r.current >= 0 && r.complete() {
		r.cleanupHistory()
	}
}

// cleanupHistory deletes the oldest empty revisions beyond the history limit.
func (r *rollout) cleanupHistory() {
	var old []int
	for _, i := range r.old {
		if !r.sets[i].Deleting {
			old = append(old, i)
		}
	}
	slices.SortStableFunc(old, func(i, j int) int { return cmp.Compare(r.sets[i].Revision, r.sets[j].Revision) })
	for _, i := range old[:max(0, len(old)-int(r.deployment.RevisionHistoryLimit))] {
		if s := &r.sets[i]; s.Replicas == 0 && s.Actual == 0 && s.Observed {
			r.plan.Delete = append(r.plan.Delete, i)
		}
	}
}
