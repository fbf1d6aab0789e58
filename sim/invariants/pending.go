package invariants

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim/store"
)

// checkNominatedPods checks that a bind leaves capacity for the pods nominated to the node
// with at least the same priority. Steps with several binds, and pods with claims, are
// skipped.
func (a *Checker) checkNominatedPods(effects []scheduling.Effect) {
	var bind *scheduling.Bind
	nominated := map[string]bool{}
	for _, e := range effects {
		switch e := e.(type) {
		case scheduling.Bind:
			if bind != nil || e.Retry {
				return
			}
			bind = &e
		case scheduling.Preempt:
			nominated[e.Pod.UID] = true
		}
	}
	if bind == nil || len(bind.Pod.Spec.Claims) > 0 {
		return
	}
	state := a.o.Scheduler.Machine().State()
	id, ok := state.NodeID(bind.Node)
	if !ok {
		return
	}
	n := state.Node(id)
	cpu, memory, pods := n.Used.MilliCPU, n.Used.Memory, int64(len(n.Pods))
	var nominatedPods []string
	for _, q := range state.Nominated(id) {
		// A reservation does not count against its owner.
		if !nominated[q.UID] && cluster.NominationCounts(q, bind.Pod) {
			cpu, memory, pods = cpu+q.Spec.Requests.MilliCPU, memory+q.Spec.Requests.Memory, pods+1
			nominatedPods = append(nominatedPods, q.Key())
		}
	}
	r := &bind.Pod.Spec.Requests
	if len(nominatedPods) > 0 && (r.MilliCPU > 0 && cpu > n.Model.Allocatable.MilliCPU || r.Memory > 0 && memory > n.Model.Allocatable.Memory || pods > n.Model.AllocatablePods) {
		a.failf("NominatedCapacity", "pod %s of priority %d is bound to %s, where %v are nominated", bind.Pod.Key(), bind.Pod.Spec.Priority, bind.Node, nominatedPods)
	}
}

// checkPendingPods checks that the scheduler tracks every pending pod that it has observed.
func (a *Checker) checkPendingPods() {
	m := a.o.Scheduler.Machine()
	for p := range a.pendingPods() {
		if pool, attempted := m.PodState(p.UID); !attempted && (pool == queue.NotQueued || pool == queue.InFlight) {
			a.failf("PendingTracked", "pod %s is neither queued (%q) nor being scheduled", p.Key(), pool)
		}
	}
}

// pendingPods returns the pending pods in the scheduler's state, and their profiles.
func (a *Checker) pendingPods() iter.Seq2[*model.Pod, *framework.Profile] {
	return func(yield func(*model.Pod, *framework.Profile) bool) {
		for o := range store.All[*corev1.Pod](a.w.API()) {
			if o.Spec.NodeName != "" {
				continue
			}
			p := a.o.Scheduler.Machine().State().Pod(string(o.UID))
			if p == nil || p.NodeName != "" || p.Finished() || p.Deleting {
				continue
			}
			i := slices.IndexFunc(a.o.Profiles, func(q *framework.Profile) bool { return q.Name() == p.Spec.SchedulerName })
			if i >= 0 && !yield(p, a.o.Profiles[i]) {
				return
			}
		}
	}
}
