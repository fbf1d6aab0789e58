package workload

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
)

// StatefulSet is the desired state: pods with ordinals from Start on.
type StatefulSet struct {
	Replicas, Start int32
	Ordered         bool          // podManagementPolicy OrderedReady; else Parallel
	OnDelete        bool          // old pods stay until a user deletes them
	Partition       int32         // pods below Start+Partition stay at the Current revision
	MaxUnavailable  int32         // of a rolling update; at least 1
	MinReady        time.Duration // minReadySeconds
	Generation      int64
	Deleting        bool
	Current, Update string // revisions: the last complete one, and that of the template
}

// StatefulPod is a pod of a StatefulSet.
type StatefulPod struct {
	Pod
	Ordinal  int32
	Revision string
	// NotBefore is when this failed pod may be replaced; zero: now.
	NotBefore time.Time
}

// StatefulReason is why a StatefulSet deletes a pod.
type StatefulReason uint8

// The reasons.
const (
	StatefulFailed StatefulReason = iota
	StatefulSucceeded
	StatefulScaledDown
	StatefulOutdated
	StatefulExcess // another pod has its ordinal
)

// StatefulCreate is a pod to create.
type StatefulCreate struct {
	Ordinal  int32
	Revision string
}

// StatefulDelete is a pod to delete.
type StatefulDelete struct {
	Pod    int // index into the given pods
	Reason StatefulReason
}

// StatefulStatus is the status of a StatefulSet.
type StatefulStatus struct {
	Replicas, Ready, Available       int32
	CurrentReplicas, UpdatedReplicas int32 // pods of the two revisions that are not terminating
	Current, Update                  string
	Observed                         int64 // observedGeneration
}

// StatefulPlan holds the changes to make now, in this order.
type StatefulPlan struct {
	Create []StatefulCreate
	Delete []StatefulDelete
	// ScaledDown are the indexes of the pods whose ordinal is out of range, deleted or not: the
	// retention policy applies to their claims.
	ScaledDown []int
	Status     StatefulStatus
	Wake       time.Time // when to plan again; zero: never
}

// Plan plans a StatefulSet. pods can be in any order.
//
// With Ordered, a plan adds or removes one replica at a time. It first creates or replaces the lowest ordinal that is
// missing or finished, and waits until it is available. Then it deletes the excess pod with the highest
// ordinal. Without Ordered, a plan creates and deletes all these pods at once. In both cases it then deletes
// pods of old revisions, the highest ordinal first, within MaxUnavailable.
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

// planSize returns the number of ordinals that a plan covers: those in use and those that it may
// create. It does not depend on Replicas alone, which may be huge by mistake.
func (s *StatefulSet) planSize(pods []StatefulPod) int32 {
	used := int32(0)
	for i := range pods {
		if n := pods[i].Ordinal - s.Start; n >= 0 && n < s.Replicas {
			used = max(used, n+1)
		}
	}
	return max(0, used+min(s.Replicas-used, Burst))
}

// statefulPlanner makes one plan.
type statefulPlanner struct {
	set       *StatefulSet
	now       time.Time
	pods      []StatefulPod
	slots     []int // pod by ordinal minus Start; -1: none
	condemned []int // pods of other ordinals, lowest first
	plan      StatefulPlan
}

// assignOrdinals assigns pods to slots. Two pods can have the same ordinal if one of them was adopted;
// the older one stays.
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

// countStatus computes the status. The update revision becomes the current one when every replica
// has it and is ready, except with OnDelete.
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

// available reports whether a pod is available. If it is not yet, Wake is set to when it will be.
func (p *statefulPlanner) available(i int) bool {
	pod := &p.pods[i]
	if pod.Phase != model.Running {
		return false
	}
	ok, at := pod.Available(p.now, p.set.MinReady)
	p.plan.Wake = order.Earliest(p.plan.Wake, at)
	return ok
}

// healthy reports whether the pod is available and not terminating.
func (p *statefulPlanner) healthy(i int) bool {
	return i >= 0 && !p.pods[i].Deleting && p.available(i)
}

func (p *statefulPlanner) delete(i int, reason StatefulReason) {
	p.plan.Delete = append(p.plan.Delete, StatefulDelete{i, reason})
}

// revision returns the revision with which a plan creates the pod of slot n.
func (p *statefulPlanner) revision(n int) string {
	if !p.set.OnDelete && n < int(p.set.Partition) {
		return p.set.Current
	}
	return p.set.Update
}
