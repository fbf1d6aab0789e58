package workload

import (
	"cmp"
	"slices"
	"time"
)

// Deployment is the desired state of a Deployment.
type Deployment struct {
	Replicas int32
	// Recreate terminates all old pods before new ones are created; otherwise MaxSurge and
	// MaxUnavailable apply.
	Recreate bool
	// MaxSurge and MaxUnavailable are counts; they are not both 0 unless Recreate is set.
	MaxSurge, MaxUnavailable int32
	// ProgressDeadline is progressDeadlineSeconds; 0: none.
	ProgressDeadline time.Duration
	// RevisionHistoryLimit is the number of old ReplicaSets to keep.
	RevisionHistoryLimit int32
	Paused, Deleting     bool
	Generation           int64
	Status               DeploymentStatus
}

// DeploymentStatus is the status of a Deployment.
type DeploymentStatus struct {
	Replicas, Updated, Ready, Available, Unavailable, Terminating int32
	Observed                                                      int64 // observedGeneration
	Conditions                                                    Conditions
}

// Set is a ReplicaSet of a Deployment.
type Set struct {
	Name     string
	Created  time.Time
	Revision int64 // 0 if it has none yet
	// Current is set if the template is the Deployment's.
	Current  bool
	Deleting bool

	// Replicas is spec.replicas. Actual, Ready, Available and Terminating are from the status;
	// Observed reports whether the status is of this spec.
	Replicas                              int32
	Actual, Ready, Available, Terminating int32
	Observed                              bool
	// Desired and Max are the Deployment's replicas and replicas+maxSurge when the set was last
	// scaled, from its annotations; -1 without them.
	Desired, Max int32
	// Failure is its ReplicaFailure condition, or nil.
	Failure *Condition

	replicasBefore int32 // Replicas before the plan
}

// available returns the number of available pods that the set certainly keeps: pods that a lower
// Replicas deletes do not count.
func (s *Set) available() int32 { return min(s.Available, s.Replicas, s.replicasBefore) }

// maxPods returns the maximum number of pods of the set.
func (s *Set) maxPods() int32 { return max(s.Replicas, s.Actual) }

// Scaling is a change of a set's replicas.
type Scaling struct {
	Set int // index into the given sets
	To  int32
}

// DeploymentPlan holds the changes to make now, in this order.
type DeploymentPlan struct {
	// Current is the index of the set with the Deployment's template, or -1. If it is -1, Create
	// reports whether to create it, with CreateReplicas.
	Current        int
	Create         bool
	CreateReplicas int32
	// Revision is the revision annotation of the current set and the Deployment.
	Revision int64
	// Scale are the sets to scale. Annotate are the sets of which only the annotations Desired and Max
	// change.
	Scale    []Scaling
	Annotate []int
	// Delete are old sets beyond the history limit.
	Delete []int
	Status DeploymentStatus
	// Wake is when to plan again without an event; zero: never.
	Wake time.Time
}

// MaxPods returns the maximum number of pods of the Deployment during a rollout.
func (d *Deployment) MaxPods() int32 {
	if d.Replicas == 0 {
		return 0
	}
	return d.Replicas + d.MaxSurge
}

// minAvailable returns the minimum number of available pods.
func (d *Deployment) minAvailable() int32 { return max(0, d.Replicas-d.MaxUnavailable) }

// Plan plans a Deployment. name is the name of the current set, even if it does not exist yet.
// oldPods reports whether an old set has a pod that has not finished; only Recreate uses it.
func (d *Deployment) Plan(now time.Time, sets []Set, name string, oldPods bool) DeploymentPlan {
	r := rollout{deployment: d, now: now, name: name, sets: slices.Clone(sets)}
	for i := range r.sets {
		r.sets[i].replicasBefore = r.sets[i].Replicas
	}
	r.findCurrent()
	r.plan.Current = r.current
	r.plan.Revision = r.revision()
	r.conditions = d.Status.Conditions
	r.setPausedCondition()
	switch {
	case d.Deleting:
	case d.Paused:
		r.scaleProportionally()
		r.cleanupHistory()
	case r.isScaling():
		r.scaleProportionally()
	case d.Recreate:
		r.startProgressDeadline()
		r.recreate(oldPods)
	default:
		r.startProgressDeadline()
		r.rollingUpdate()
	}
	r.collectPlan(sets)
	return r.plan
}

// rollout makes one plan. It changes its copy of the sets as it scales them.
type rollout struct {
	deployment *Deployment
	now        time.Time
	name       string
	sets       []Set
	// current is the index of the current set, or -1; old are the other sets, oldest first.
	current    int
	old        []int
	conditions Conditions
	plan       DeploymentPlan
}

// findCurrent finds the current set: the oldest one with the Deployment's template.
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

// revision returns the largest old revision plus one, or the current set's if that is larger.
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

// byAge returns the sets by age, the current one last.
func (r *rollout) byAge() []int {
	if r.current < 0 {
		return r.old
	}
	return append(slices.Clone(r.old), r.current)
}

// areObserved reports whether the status of every set is of its current spec. Otherwise the ReplicaSet
// controller may still create or delete pods for an older spec.
func (r *rollout) areObserved() bool {
	for i := range r.sets {
		if !r.sets[i].Observed {
			return false
		}
	}
	return true
}

// headroom returns the number of pods that may be created.
func (r *rollout) headroom() int32 {
	if !r.areObserved() {
		return 0
	}
	remaining := r.deployment.MaxPods()
	for i := range r.sets {
		remaining -= r.sets[i].maxPods()
	}
	return max(0, remaining)
}

// collectPlan collects the changes of the sets.
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
	// Scale up before scaling down.
	slices.SortStableFunc(r.plan.Scale, func(a, b Scaling) int {
		return cmp.Compare(cmp.Compare(b.To, before[b.Set].Replicas), cmp.Compare(a.To, before[a.Set].Replicas))
	})
	r.plan.Status = r.status()
}

func (r *rollout) setReplicas(i int, to int32) {
	s := &r.sets[i]
	s.Replicas, s.Desired, s.Max = to, r.deployment.Replicas, r.deployment.Replicas+r.deployment.MaxSurge
}
