package workload

import (
	"cmp"
	"slices"
)

// roll takes a rolling update one step further: makes new pods as far as there is room, and takes
// old ones away as far as enough are available.
func (r *rollout) roll() {
	d := r.d
	known := r.observed()
	switch {
	case r.current < 0:
		r.plan.Create, r.plan.CreateReplicas = true, min(r.room(), d.Replicas)
	default:
		r.grow()
	}
	if known {
		r.shrink()
	}
	if r.current >= 0 && r.complete() {
		r.clean()
	}
}

// grow takes the current set to where it should be, as far as there is room.
func (r *rollout) grow() {
	s := &r.sets[r.current]
	to := s.Replicas
	if to < r.d.Replicas {
		to += min(r.room(), r.d.Replicas-to)
	} else {
		to = r.d.Replicas
	}
	if to != s.Replicas || s.Desired != r.d.Replicas || s.Max != r.d.Replicas+r.d.Surge {
		r.scale(r.current, to)
	}
}

// shrink takes pods of old sets away: first those that are not available, since nobody misses them, then
// as many as are available beyond what must be. The oldest set goes first.
func (r *rollout) shrink() {
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
	spare := all - r.d.floor() - newUnavailable
	for _, i := range r.old {
		s := &r.sets[i]
		if n := min(spare, s.Replicas-s.available()); n > 0 {
			r.scale(i, s.Replicas-n)
			spare -= n
		}
	}
	spare = min(spare, available-r.d.floor())
	for _, i := range r.old {
		s := &r.sets[i]
		if n := min(spare, s.Replicas); n > 0 {
			r.scale(i, s.Replicas-n)
			spare -= n
		}
	}
}

// recreate stops all old pods, waits until they are gone, and only then makes new ones.
func (r *rollout) recreate(oldPods bool) {
	waits := oldPods
	for _, i := range r.old {
		if s := &r.sets[i]; s.Replicas > 0 {
			r.scale(i, 0)
			waits = true
		} else if s.Actual > 0 || !s.Observed {
			waits = true
		}
	}
	switch {
	case r.current >= 0 && r.sets[r.current].Replicas > r.d.Replicas:
		r.scale(r.current, r.d.Replicas)
	case waits:
	case r.current < 0:
		r.plan.Create, r.plan.CreateReplicas = true, r.d.Replicas
	default:
		r.grow()
	}
	if r.current >= 0 && r.complete() {
		r.clean()
	}
}

// clean has the oldest revisions deleted that the history has no place for, if nothing is left of them.
func (r *rollout) clean() {
	var old []int
	for _, i := range r.old {
		if !r.sets[i].Deleting {
			old = append(old, i)
		}
	}
	slices.SortStableFunc(old, func(i, j int) int { return cmp.Compare(r.sets[i].Revision, r.sets[j].Revision) })
	for _, i := range old[:max(0, len(old)-int(r.d.History))] {
		if s := &r.sets[i]; s.Replicas == 0 && s.Actual == 0 && s.Observed {
			r.plan.Delete = append(r.plan.Delete, i)
		}
	}
}
