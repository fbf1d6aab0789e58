package workload

import (
	"cmp"
	"slices"
)

// rollingUpdate takes a rolling update one step further: makes new pods as far as there is room, and takes
// old ones away as far as enough are available.
func (r *rollout) rollingUpdate() {
	d := r.deployment
	known := r.observed()
	switch {
	case r.current < 0:
		r.plan.Create, r.plan.CreateReplicas = true, min(r.headroom(), d.Replicas)
	default:
		r.scaleUpNew()
	}
	if known {
		r.scaleDownOld()
	}
	if r.current >= 0 && r.complete() {
		r.cleanupHistory()
	}
}

// scaleUpNew takes the current set to where it should be, as far as there is room.
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

// scaleDownOld takes pods of old sets away: first those that are not available, since nobody misses them, then
// as many as are available beyond what must be. The oldest set goes first.
func (r *rollout) scaleDownOld() {
	var all, available, newUnavailable int32
	for i := range r.sets {
		all += r.sets[i].Replicas
		available += r.sets[i].available()
	}
	if r.current >= 0 {
		newUnavailable = r.sets[r.current].Replicas - r.sets[r.current].available()
	}
	// New pods that are not available yet may become so only if they are left alone, so they do
	// not make up for old ones.
	spare := all - r.deployment.minAvailable() - newUnavailable
	for _, i := range r.old {
		s := &r.sets[i]
		if n := min(spare, s.Replicas-s.available()); n > 0 {
			r.setReplicas(i, s.Replicas-n)
			spare -= n
		}
	}
	spare = min(spare, available-r.deployment.minAvailable())
	for _, i := range r.old {
		s := &r.sets[i]
		if n := min(spare, s.Replicas); n > 0 {
			r.setReplicas(i, s.Replicas-n)
			spare -= n
		}
	}
}

// recreate stops all old pods, waits until they are gone, and only then makes new ones.
func (r *rollout) recreate(oldPods bool) {
	waits := oldPods
	for _, i := range r.old {
		if s := &r.sets[i]; s.Replicas > 0 {
			r.setReplicas(i, 0)
			waits = true
		} else if s.Actual > 0 || !s.Observed {
			waits = true
		}
	}
	switch {
	case r.current >= 0 && r.sets[r.current].Replicas > r.deployment.Replicas:
		r.setReplicas(r.current, r.deployment.Replicas)
	case waits:
	case r.current < 0:
		r.plan.Create, r.plan.CreateReplicas = true, r.deployment.Replicas
	default:
		r.scaleUpNew()
	}
	if r.current >= 0 && r.complete() {
		r.cleanupHistory()
	}
}

// cleanupHistory has the oldest revisions deleted that the history has no place for, if nothing is left of them.
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
