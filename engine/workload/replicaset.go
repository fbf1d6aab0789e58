package workload

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Burst is how many pods one plan makes or deletes at most.
const Burst = 500

// ReplicaFailure is the condition that pods could not be made or deleted.
const ReplicaFailure = "ReplicaFailure"

// ReplicaSet is what is asked for: so many pods of one template.
type ReplicaSet struct {
	Replicas   int32
	MinReady   time.Duration
	Generation int64
	Deleting   bool         // it is to go: nothing is made or deleted any more
	Node       string       // that the template names; "" leaves it to a scheduler
	Labels     model.Labels // of the template
	Status     ReplicaSetStatus
}

// ReplicaSetStatus is what there is.
type ReplicaSetStatus struct {
	Replicas, FullyLabeled, Ready, Available, Terminating int32
	Observed                                              int64 // generation
	Conditions                                            Conditions
}

// ReplicaSetPlan is what to do now.
type ReplicaSetPlan struct {
	// Create is how many pods to make. Where a pause holds them back it is 0, and Held says how many wait.
	Create, Delayed int32
	// Delete are the pods to delete, as indexes into the pods that were given, the most dispensable first.
	Delete []int
	// Status is what the status should say, but for the outcome of Create and Delete.
	Status ReplicaSetStatus
	// Wake is when to look again without an event; zero: never.
	Wake time.Time
}

// Plan decides about a ReplicaSet whose pods are these, in any order: those that are about to
// go and those that ended are left out of the count. crowd is as in Rank. No pod
// is made before notBefore (zero: at once; see Pause), nor for one that is about to go and has its stand-in among them,
// until the ReplicaSet is changed: with its replicas set back the stand-in is one of those that are asked for.
func (r *ReplicaSet) Plan(now time.Time, pods []Pod, podsByNode map[string]int, notBefore time.Time) ReplicaSetPlan {
	plan := ReplicaSetPlan{Status: ReplicaSetStatus{Observed: r.Generation, Conditions: r.Status.Conditions}}
	// The active pods as Rank is to see them: one that is ready, but not for as long as minReadySeconds
	// asks, counts as not ready, so that it goes before those on which a rollout relies. Kubernetes
	// may take either.
	active := make([]Pod, 0, len(pods))
	var index []int // of each active pod among all
	for i := range pods {
		p := &pods[i]
		if p.Active() {
			a := *p
			a.Ready = plan.countPod(now, r, p)
			active = append(active, a)
			index = append(index, i)
		} else if p.Terminating() {
			plan.Status.Terminating++
		}
	}
	if r.Deleting {
		return plan
	}
	n := r.Replicas - int32(len(active))
	if n > 0 {
		n = max(n-r.countReplaced(pods), 0)
	}
	switch {
	case n > 0 && notBefore.After(now):
		plan.Delayed = n
		plan.Wake = earliest(plan.Wake, notBefore)
	case n > 0:
		plan.Create = min(n, Burst)
	case n < 0:
		n = min(-n, Burst)
		for _, i := range RankForDeletion(now, active, podsByNode)[:n] {
			plan.Delete = append(plan.Delete, index[i])
		}
	}
	return plan
}

// countReplaced is how many pods are about to go whose stand-ins are there on top of the others.
func (r *ReplicaSet) countReplaced(pods []Pod) (n int32) {
	for i := range pods {
		p := &pods[i]
		if p.ExpectedReplacement == "" || p.ReplacementGeneration == 0 || p.ReplacementGeneration != r.Generation || !p.Terminating() {
			continue
		}
		if slices.ContainsFunc(pods, func(q Pod) bool { return q.Name == p.ExpectedReplacement && q.Active() }) {
			n++
		}
	}
	return n
}

// countPod adds an active pod to the status, and tells whether it is available.
func (p *ReplicaSetPlan) countPod(now time.Time, r *ReplicaSet, pod *Pod) (available bool) {
	p.Status.Replicas++
	if hasAll(pod.Labels, r.Labels) {
		p.Status.FullyLabeled++
	}
	if !pod.Ready {
		return false
	}
	p.Status.Ready++
	ok, at := pod.Available(now, r.MinReady)
	if ok {
		p.Status.Available++
	}
	p.Wake = earliest(p.Wake, at)
	return ok
}

// hasAll says whether labels include all of want.
func hasAll(labels, want model.Labels) bool {
	for _, l := range want {
		if v, ok := labels.Get(l.Key); !ok || v != l.Value {
			return false
		}
	}
	return true
}

// WithReplicaFailure is the conditions of a ReplicaSet after its plan was carried out: reason is
// FailedCreate or FailedDelete with the message, or "" if all went well.
func (c Conditions) WithReplicaFailure(now time.Time, reason, message string) Conditions {
	if reason == "" {
		return c.Without(ReplicaFailure)
	}
	if c.Get(ReplicaFailure) != nil {
		return c // the first failure stays until all goes well
	}
	return c.With(now, Condition{Type: ReplicaFailure, Status: True, Reason: reason, Message: message})
}

// CountActiveByNode counts the active pods by node.
func CountActiveByNode(pods []Pod) map[string]int {
	out := map[string]int{}
	for i := range pods {
		if pods[i].Active() {
			out[pods[i].Node]++
		}
	}
	return out
}
