package workload

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// StatefulSet is what is asked for: pods with numbers, from Start on.
type StatefulSet struct {
	Replicas, Start int32
	Ordered         bool  // one after the other (OrderedReady); else all at once (Parallel)
	OnDelete        bool  // old pods stay until somebody deletes them
	Partition       int32 // pods below Start+Partition stay at, and are made at, the Current revision
	MaxUnavailable  int32 // of a rolling update; 1 at least
	MinReady        time.Duration
	Generation      int64
	Deleting        bool
	Current, Update string // revisions: the last one rolled out as a whole, and that of the template
}

// StatefulPod is a pod of a StatefulSet.
type StatefulPod struct {
	Pod
	Ordinal  int32
	Revision string
	// NotBefore is when a pod may be made in place of this one, which failed; zero: at once.
	NotBefore time.Time
}

// StatefulReason says why a pod of a StatefulSet goes.
type StatefulReason uint8

// The reasons.
const (
	StatefulFailed StatefulReason = iota
	StatefulSucceeded
	StatefulScaledDown
	StatefulOutdated
	StatefulExcess // another one has its number
)

// StatefulCreate is a pod to make.
type StatefulCreate struct {
	Ordinal  int32
	Revision string
}

// StatefulDelete is a pod to delete.
type StatefulDelete struct {
	Pod    int // index into the pods that were given
	Reason StatefulReason
}

// StatefulStatus is what there is.
type StatefulStatus struct {
	Replicas, Ready, Available       int32
	CurrentReplicas, UpdatedReplicas int32 // pods of the two revisions that are not being stopped
	Current, Update                  string
	Observed                         int64 // generation
}

// StatefulPlan is what to do now, in this order.
type StatefulPlan struct {
	Create []StatefulCreate
	Delete []StatefulDelete
	// ScaledDown are the pods, as indexes, whose number is not asked for (any more), deleted yet or not: by
	// the claims' retention policy, their claims go with them.
	ScaledDown []int
	Status     StatefulStatus
	Wake       time.Time // look again then; zero: never
}

// Plan decides about a StatefulSet whose pods are these, in any order.
//
// Ordered, it does one thing at a time: the lowest number that is missing, ended or not available
// comes first, and nothing happens after it until it is; then the highest number too many; then
// the highest pod of an old revision. Parallel, it makes and deletes all at once, but still replaces
// old pods only as far as MaxUnavailable allows.
func (s *StatefulSet) Plan(now time.Time, pods []StatefulPod) StatefulPlan {
	p := &statefulPlanner{set: s, now: now, pods: pods, slots: make([]int, s.planSize(pods))}
	for i := range p.slots {
		p.slots[i] = -1
	}
	p.assignOrdinals()
	p.countStatus()
	if s.Deleting {
		return p.plan
	}
	if p.ensureReplicas() && p.scaleDown() && !s.OnDelete {
		p.rollingUpdate()
	}
	return p.plan
}

// planSize is how many numbers a plan looks at: those that are taken, and as many more as it may make pods of. It
// is not Replicas, which may be two thousand millions by a slip of somebody's finger.
func (s *StatefulSet) planSize(pods []StatefulPod) int32 {
	taken := int32(0)
	for i := range pods {
		if n := pods[i].Ordinal - s.Start; n >= 0 && n < s.Replicas {
			taken = max(taken, n+1)
		}
	}
	return max(0, taken+min(s.Replicas-taken, Burst))
}

// statefulPlanner makes one plan.
type statefulPlanner struct {
	set       *StatefulSet
	now       time.Time
	pods      []StatefulPod
	slots     []int // pod by number less Start, as far as the plan reaches; -1: none
	condemned []int // pods of other numbers, the lowest first
	plan      StatefulPlan
}

// assignOrdinals tells each pod its place. Of two with one number the older stays: the other one can only be adopted.
func (p *statefulPlanner) assignOrdinals() {
	for i := range p.pods {
		n := p.pods[i].Ordinal - p.set.Start
		switch {
		case n < 0 || int(n) >= len(p.slots):
			p.condemned = append(p.condemned, i)
		case p.slots[n] < 0:
			p.slots[n] = i
		default:
			older, other := p.slots[n], i
			if cmp.Or(p.pods[i].Created.Compare(p.pods[older].Created), cmp.Compare(p.pods[i].UID, p.pods[older].UID)) < 0 {
				older, other = i, older
			}
			p.slots[n] = older
			if !p.pods[other].Deleting && !p.set.Deleting {
				p.delete(other, StatefulExcess)
			}
		}
	}
	slices.SortFunc(p.condemned, func(i, j int) int {
		return cmp.Or(cmp.Compare(p.pods[i].Ordinal, p.pods[j].Ordinal), cmp.Compare(p.pods[i].UID, p.pods[j].UID))
	})
	p.plan.ScaledDown = p.condemned
}

// countStatus makes the status. The update revision becomes the current one when every replica has it and is ready.
func (p *statefulPlanner) countStatus() {
	st, set := &p.plan.Status, p.set
	*st = StatefulStatus{Current: set.Current, Update: set.Update, Observed: set.Generation}
	for i := range p.pods {
		pod := &p.pods[i]
		if pod.Finished() {
			continue
		}
		st.Replicas++
		if pod.Phase == model.Running && pod.Ready {
			st.Ready++
		}
		if p.available(i) {
			st.Available++
		}
		if pod.Deleting {
			continue
		}
		if pod.Revision == set.Current {
			st.CurrentReplicas++
		}
		if pod.Revision == set.Update {
			st.UpdatedReplicas++
		}
	}
	if !set.OnDelete && st.UpdatedReplicas == st.Replicas && st.Ready == st.Replicas && st.Replicas == set.Replicas {
		st.Current, st.CurrentReplicas = set.Update, st.UpdatedReplicas
	}
}

// available says that a pod does its work; one that will, if nothing happens, is looked at again then.
func (p *statefulPlanner) available(i int) bool {
	pod := &p.pods[i]
	if pod.Phase != model.Running {
		return false
	}
	ok, at := pod.Available(p.now, p.set.MinReady)
	p.plan.Wake = earliest(p.plan.Wake, at)
	return ok
}

// healthy is available and to stay.
func (p *statefulPlanner) healthy(i int) bool {
	return i >= 0 && !p.pods[i].Deleting && p.available(i)
}

func (p *statefulPlanner) delete(i int, why StatefulReason) {
	p.plan.Delete = append(p.plan.Delete, StatefulDelete{i, why})
}

// revision is that of which a missing pod is made.
func (p *statefulPlanner) revision(n int) string {
	if !p.set.OnDelete && n < int(p.set.Partition) {
		return p.set.Current
	}
	return p.set.Update
}
