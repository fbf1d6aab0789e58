package workload

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
)

// Burst limits the pods that one plan creates or deletes.
const Burst = 500

// ReplicaFailure is the type of the condition that reports a failure to create or delete pods.
const ReplicaFailure = "ReplicaFailure"

// ReplicaSet is the desired and actual state of a ReplicaSet.
type ReplicaSet struct {
	Replicas   int32
	MinReady   time.Duration // minReadySeconds
	Generation int64
	Deleting   bool         // nothing is created or deleted
	Node       string       // of the template; "": a scheduler chooses it
	Labels     model.Labels // of the template
	Status     ReplicaSetStatus
}

// ReplicaSetStatus is the status of a ReplicaSet.
type ReplicaSetStatus struct {
	Replicas, FullyLabeled, Ready, Available, Terminating int32
	Observed                                              int64 // observedGeneration
	Conditions                                            Conditions
}

// ReplicaSetPlan holds the changes to make now.
type ReplicaSetPlan struct {
	// Create is the number of pods to create. During a backoff it is 0 and Delayed is that number.
	Create, Delayed int32
	// Delete are the indexes of the pods to delete, in deletion order.
	Delete []int
	// Status is the new status, without the outcome of Create and Delete.
	Status ReplicaSetStatus
	// Wake is when to plan again without an event; zero: never.
	Wake time.Time
}

// Plan plans a ReplicaSet. pods can be in any order; terminating and finished pods do not count
// as replicas. podsByNode is as in RankForDeletion. No pod is created before notBefore (zero: now;
// see BackoffUntil). Nor is one created for a terminating pod whose expected replacement is active
// while the ReplicaSet's generation is unchanged.
func (r *ReplicaSet) Plan(now time.Time, pods []Pod, podsByNode map[string]int, notBefore time.Time) ReplicaSetPlan {
	plan := ReplicaSetPlan{Status: ReplicaSetStatus{Observed: r.Generation, Conditions: r.Status.Conditions}}
	// A pod that is ready, but not yet available, ranks as not ready. It is deleted before the available pods that a
	// rollout relies on. Kubernetes may delete either.
	active := make([]Pod, 0, len(pods))
	var index []int // index of each active pod in pods
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
		plan.Wake = order.Earliest(plan.Wake, notBefore)
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

// countReplaced returns the number of terminating pods that have an active expected replacement.
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

// countPod adds an active pod to the status and reports whether it is available.
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
	p.Wake = order.Earliest(p.Wake, at)
	return ok
}

// hasAll reports whether labels contain all of want.
func hasAll(labels, want model.Labels) bool {
	for _, l := range want {
		if v, ok := labels.Get(l.Key); !ok || v != l.Value {
			return false
		}
	}
	return true
}

// WithReplicaFailure returns the conditions after a plan was executed: reason is FailedCreate or
// FailedDelete with the message, or "" if all succeeded.
func (c Conditions) WithReplicaFailure(now time.Time, reason, message string) Conditions {
	if reason == "" {
		return c.Without(ReplicaFailure)
	}
	if c.Get(ReplicaFailure) != nil {
		return c // the first failure stays until all succeeds
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
