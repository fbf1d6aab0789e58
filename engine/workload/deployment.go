package workload

import (
	"cmp"
	"slices"
	"time"
)

// Deployment is what is asked for: pods of a template, changed step by step when the template changes.
type Deployment struct {
	Replicas int32
	// Recreate stops all old pods before it makes new ones; else Surge and Unavailable bound the change.
	Recreate bool
	// MaxSurge is how many pods more than Replicas there may be, Unavailable how many of Replicas
	// may be missing; not both 0, unless Recreate.
	MaxSurge, MaxUnavailable int32
	// ProgressDeadline is how long a rollout may go without progress; 0 is for ever.
	ProgressDeadline time.Duration
	// RevisionHistoryLimit is how many old ReplicaSets are kept.
	RevisionHistoryLimit int32
	Paused, Deleting     bool
	Generation           int64
	Status               DeploymentStatus
}

// DeploymentStatus is what there is.
type DeploymentStatus struct {
	Replicas, Updated, Ready, Available, Unavailable, Terminating int32
	Observed                                                      int64 // generation
	Conditions                                                    Conditions
}

// Set is one of a Deployment's ReplicaSets.
type Set struct {
	Name     string
	Created  time.Time
	Revision int64 // 0 if it has none yet
	// Current says that its template is the Deployment's.
	Current  bool
	Deleting bool

	// Replicas is what it is to have. Actual, Ready, Available and Terminating are from its
	// status, which Observed says to be about this Replicas.
	Replicas                              int32
	Actual, Ready, Available, Terminating int32
	Observed                              bool
	// Desired and Max are Replicas and Replicas+Surge of the Deployment when the set was scaled
	// last, as its annotations say; -1 without.
	Desired, Max int32
	// Failure is its ReplicaFailure condition; nil if all goes well.
	Failure *Condition

	replicasBefore int32 // Replicas before the plan changed them
}

// available is how many available pods the set keeps for sure: those that are about to be
// taken away because Replicas was lowered do not count.
func (s *Set) available() int32 { return min(s.Available, s.Replicas, s.replicasBefore) }

// maxPods is how many pods the set may have at the most.
func (s *Set) maxPods() int32 { return max(s.Replicas, s.Actual) }

// Scaling is a change of a set's replicas.
type Scaling struct {
	Set int // index into the sets that were given
	To  int32
}

// DeploymentPlan is what to do now, in this order.
type DeploymentPlan struct {
	// Current is the index of the set with the Deployment's template, -1 if there is none;
	// then Create says whether to make one, with CreateReplicas.
	Current        int
	Create         bool
	CreateReplicas int32
	// Revision is what the current set, made or found, and the Deployment are to be labelled with.
	Revision int64
	// Scale are the sets to scale, and Annotate those whose annotations of Desired and Max
	// alone are out of date.
	Scale    []Scaling
	Annotate []int
	// Delete are old sets beyond the history.
	Delete []int
	Status DeploymentStatus
	// Wake is when to look again without an event; zero: never.
	Wake time.Time
}

// MaxPods is how many pods there may be.
func (d *Deployment) MaxPods() int32 {
	if d.Replicas == 0 {
		return 0
	}
	return d.Replicas + d.MaxSurge
}

// minAvailable is how many pods are to be available.
func (d *Deployment) minAvailable() int32 { return max(0, d.Replicas-d.MaxUnavailable) }

// Plan decides about a Deployment with these sets. name is that of the current set, also if it
// is not there yet. oldPods says whether any pod of an old set has not ended, be it about to go; only Recreate asks.
func (d *Deployment) Plan(now time.Time, sets []Set, name string, oldPods bool) DeploymentPlan {
	r := rollout{deployment: d, now: now, name: name, sets: slices.Clone(sets)}
	for i := range r.sets {
		r.sets[i].replicasBefore = r.sets[i].Replicas
	}
	r.findCurrent()
	r.plan.Current = r.current
	r.plan.Revision = r.revision()
	r.conditions = d.Status.Conditions
	r.notePaused()
	switch {
	case d.Deleting:
	case d.Paused:
		r.scaleProportionally()
		r.cleanupHistory()
	case r.isScaling():
		r.scaleProportionally()
	case d.Recreate:
		r.noteFound()
		r.recreate(oldPods)
	default:
		r.noteFound()
		r.rollingUpdate()
	}
	r.collectPlan(sets)
	return r.plan
}

// rollout is one look at a Deployment. Its sets are changed as the plan scales them.
type rollout struct {
	deployment *Deployment
	now        time.Time
	name       string
	sets       []Set
	// current is the index of the current set, or -1; old are those of all others, oldest first.
	current    int
	old        []int
	conditions Conditions
	plan       DeploymentPlan
}

// findCurrent finds the current set: the oldest one with the right template.
func (r *rollout) findCurrent() {
	order := make([]int, len(r.sets))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &r.sets[i], &r.sets[j]
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	r.current = -1
	for _, i := range order {
		if r.current < 0 && r.sets[i].Current {
			r.current = i
		} else {
			r.old = append(r.old, i)
		}
	}
}

// revision is one more than that of all old sets, or what the current set has, if that is more.
func (r *rollout) revision() int64 {
	var last int64
	for _, i := range r.old {
		last = max(last, r.sets[i].Revision)
	}
	last++
	if r.current >= 0 {
		last = max(last, r.sets[r.current].Revision)
	}
	return last
}

// byAge are the sets by age, the current one last, if there is one.
func (r *rollout) byAge() []int {
	if r.current < 0 {
		return r.old
	}
	return append(slices.Clone(r.old), r.current)
}

// observed says that every set has taken notice of how many pods it is to have. One that has not may
// still make or delete what it was to have before, so that nobody knows how many there will be.
func (r *rollout) observed() bool {
	for i := range r.sets {
		if !r.sets[i].Observed {
			return false
		}
	}
	return true
}

// headroom is how many pods may be made.
func (r *rollout) headroom() int32 {
	if !r.observed() {
		return 0
	}
	available := r.deployment.MaxPods()
	for i := range r.sets {
		available -= r.sets[i].maxPods()
	}
	return max(0, available)
}

// collectPlan collects what the steps decided.
func (r *rollout) collectPlan(before []Set) {
	for _, i := range r.byAge() {
		s := &r.sets[i]
		switch {
		case s.Replicas != before[i].Replicas:
			r.plan.Scale = append(r.plan.Scale, Scaling{Set: i, To: s.Replicas})
		case s.Desired != before[i].Desired || s.Max != before[i].Max:
			r.plan.Annotate = append(r.plan.Annotate, i)
		}
	}
	// What is to be made goes before what is to be taken away.
	slices.SortStableFunc(r.plan.Scale, func(a, b Scaling) int {
		return cmp.Compare(cmp.Compare(a.To, before[a.Set].Replicas), cmp.Compare(b.To, before[b.Set].Replicas)) * -1
	})
	r.plan.Status = r.status()
}

// setReplicas sets what a set is to have.
func (r *rollout) setReplicas(i int, to int32) {
	s := &r.sets[i]
	s.Replicas, s.Desired, s.Max = to, r.deployment.Replicas, r.deployment.Replicas+r.deployment.MaxSurge
}
