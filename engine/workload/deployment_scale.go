package workload

import (
	"cmp"
	"slices"
)

// isScaling reports whether the Deployment's replicas changed since its sets were last scaled.
func (r *rollout) isScaling() bool {
	for i := range r.sets {
		if s := &r.sets[i]; s.Replicas > 0 && s.Desired >= 0 && s.Desired != r.deployment.Replicas {
			return true
		}
	}
	return false
}

// scaleProportionally scales all sets with replicas by their share, without advancing the rollout.
func (r *rollout) scaleProportionally() {
	if i := r.soleActive(); i >= 0 {
		r.scaleToward(i)
		return
	}
	if r.current >= 0 {
		s := &r.sets[r.current]
		if s.Replicas == r.deployment.Replicas && s.available() == r.deployment.Replicas && s.Desired == r.deployment.Replicas {
			for _, i := range r.old { // the rollout is complete, but old pods remain
				if r.sets[i].Replicas > 0 {
					r.setReplicas(i, 0)
				}
			}
			return
		}
	}
	if !r.deployment.Recreate {
		r.scaleShares()
	}
}

// soleActive returns the only set with replicas. If none has replicas, it returns the current or
// else the newest set. It returns -1 if several have replicas or there is no set.
func (r *rollout) soleActive() int {
	found := -1
	for _, i := range r.byAge() {
		if r.sets[i].Replicas > 0 {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	if found < 0 {
		if all := r.byAge(); len(all) > 0 {
			return all[len(all)-1]
		}
	}
	return found
}

// scaleToward scales one set toward the Deployment's replicas within maxSurge.
func (r *rollout) scaleToward(i int) {
	s := &r.sets[i]
	to := r.deployment.Replicas
	if to > s.Replicas {
		to = s.Replicas + min(r.headroom(), to-s.Replicas)
	}
	if to != s.Replicas || s.Desired != r.deployment.Replicas {
		r.setReplicas(i, to)
	}
}

// scaleShares divides the change among the sets with replicas in proportion to their size. The
// rounding remainder goes to the largest set. Among equals the newer set gains more and the older
// loses more.
func (r *rollout) scaleShares() {
	var active []int
	var total int32
	for _, i := range r.byAge() {
		if r.sets[i].Replicas > 0 {
			active = append(active, i)
			total += r.sets[i].Replicas
		}
	}
	add := r.deployment.MaxPods() - total
	if add > 0 {
		add = min(add, r.headroom())
	}
	if add == 0 && total != r.deployment.MaxPods() || !r.areObserved() {
		return // wait until pods may be created
	}
	slices.Reverse(active) // newer first
	if add < 0 {
		slices.Reverse(active)
	}
	slices.SortStableFunc(active, func(i, j int) int { return cmp.Compare(r.sets[j].Replicas, r.sets[i].Replicas) })
	to := make([]int32, len(active))
	var added int32
	for k, i := range active {
		n := r.replicaShare(&r.sets[i])
		if add > 0 {
			n = min(max(n, 0), add-added)
		} else {
			n = max(min(n, 0), add-added)
		}
		to[k] = r.sets[i].Replicas + n
		added += n
	}
	for k := range active {
		n := max(to[k]+add-added, 0) // distribute the remainder
		added += n - to[k]
		to[k] = n
	}
	r.keepAvailable(active, to)
	for k, i := range active {
		if s := &r.sets[i]; to[k] != s.Replicas || s.Desired != r.deployment.Replicas || s.Max != r.deployment.Replicas+r.deployment.MaxSurge {
			r.setReplicas(i, to[k])
		}
	}
}

// replicaShare returns the change of a set for its share of the new maximum, rounded to nearest.
func (r *rollout) replicaShare(s *Set) int32 {
	if r.deployment.Replicas == 0 {
		return -s.Replicas
	}
	previous := int64(s.Max)
	if previous < 0 {
		previous = int64(r.deployment.Status.Replicas)
	}
	if previous <= 0 {
		return 0
	}
	want := int64(s.Replicas) * int64(r.deployment.Replicas+r.deployment.MaxSurge)
	return int32((2*want+previous)/(2*previous)) - s.Replicas
}

// keepAvailable shifts replicas from unavailable to available pods where rounding would violate
// minAvailable.
func (r *rollout) keepAvailable(active []int, to []int32) {
	var remaining int32
	for k, i := range active {
		remaining += min(to[k], r.sets[i].available())
	}
	for i := range r.sets {
		if !slices.Contains(active, i) {
			remaining += r.sets[i].available()
		}
	}
	missing := r.deployment.minAvailable() - remaining
	for k, i := range active {
		for j, from := range active {
			transfer := min(missing, r.sets[i].available()-to[k], to[j]-r.sets[from].available())
			if transfer > 0 {
				to[k] += transfer
				to[j] -= transfer
				missing -= transfer
			}
		}
	}
}
