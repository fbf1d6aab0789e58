package cluster

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim/store"
)

// checkNominatedPods checks that a bind leaves capacity for the pods nominated to the node
// with at least the same priority. Steps with several binds, and pods with claims, are
// skipped.
func (a *audit) checkNominatedPods(effects []scheduling.Effect) {
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
	state := a.w.Scheduler.Machine().State()
	id, ok := state.NodeID(bind.Node)
	if !ok {
		return
	}
	n := state.Node(id)
	cpu, memory, pods := n.Used.MilliCPU, n.Used.Memory, int64(len(n.Pods))
	var who []string
	for _, q := range state.Nominated(id) {
		if !nominated[q.UID] && cluster.NominationCounts(q, bind.Pod) { // a reservation does not count against its owner
			cpu, memory, pods = cpu+q.Spec.Requests.MilliCPU, memory+q.Spec.Requests.Memory, pods+1
			who = append(who, q.Key())
		}
	}
	r := &bind.Pod.Spec.Requests
	if len(who) > 0 && (r.MilliCPU > 0 && cpu > n.Model.Allocatable.MilliCPU || r.Memory > 0 && memory > n.Model.Allocatable.Memory || pods > n.Model.AllocatablePods) {
		a.fail("NominatedCapacity", fmt.Sprintf("pod %s of priority %d is bound to %s, where %v are nominated", bind.Pod.Key(), bind.Pod.Spec.Priority, bind.Node, who))
	}
}

// checkPendingPods checks that the scheduler tracks every pending pod that it has observed.
func (a *audit) checkPendingPods() {
	m := a.w.Scheduler.Machine()
	for _, o := range a.w.API().List(store.Pods) {
		if obj, ok := o.(*corev1.Pod); !ok || obj.Spec.NodeName != "" {
			continue
		}
		p := m.State().Pod(string(o.GetUID()))
		if p == nil || p.NodeName != "" || p.Finished() || p.Deleting || a.profileOf(p) == nil {
			continue
		}
		if pool, attempted := m.PodState(p.UID); !attempted && (pool == queue.NotQueued || pool == queue.InFlight) {
			a.fail("PendingTracked", fmt.Sprintf("pod %s is neither queued (%q) nor being scheduled", p.Key(), pool))
		}
	}
}

func (a *audit) profileOf(p *model.Pod) *framework.Profile {
	i := slices.IndexFunc(a.w.o.Profiles, func(q *framework.Profile) bool { return q.Name() == p.Spec.SchedulerName })
	if i < 0 {
		return nil
	}
	return a.w.o.Profiles[i]
}

// compareWithStore compares the scheduler's state with the store. Unless atRest is set, the
// scheduler may be ahead: pods may be assumed or being evicted.
func (a *audit) compareWithStore(atRest bool) {
	s := a.w.Scheduler
	state := s.Machine().State()
	truth := cluster.New()
	for _, o := range a.w.API().List(store.Nodes) {
		n, ok := s.Converter().Compile(o).(*model.Node)
		if ok {
			truth.UpsertNode(n)
		}
	}
	assumed := false
	for _, o := range a.w.API().List(store.Pods) {
		obj, ok := o.(*corev1.Pod)
		if !ok || store.Finished(obj) {
			continue
		}
		p := a.compile(obj)
		truth.UpsertPod(p)
		assumed = assumed || state.Assumed(p.UID)
		if detail := describeDifference(state.Pod(p.UID), p, atRest, state.Assumed(p.UID)); detail != "" {
			a.fail("StateEqualsStore", "pod "+p.Key()+" "+detail)
		}
	}
	if state.NumNodes() != truth.NumNodes() {
		a.fail("StateEqualsStore", fmt.Sprintf("%d nodes are in the state, %d in the store", state.NumNodes(), truth.NumNodes()))
		return
	}
	for _, id := range truth.NodeIDs() {
		want := truth.Node(id)
		have, ok := state.NodeID(want.Model.Name)
		switch {
		case !ok:
			a.fail("StateEqualsStore", "node "+want.Model.Name+" is not in the state")
		case !reflect.DeepEqual(s.Machine().ReportedNode(want.Model.Name), want.Model):
			a.fail("StateEqualsStore", fmt.Sprintf("node %s is %+v in the state and %+v in the store", want.Model.Name, *s.Machine().ReportedNode(want.Model.Name), *want.Model))
		case !assumed && (len(state.Node(have).Pods) != len(want.Pods) || !reflect.DeepEqual(state.Node(have).Used, want.Used)):
			a.fail("StateEqualsStore", fmt.Sprintf("node %s counts %d pods with %+v, and has %d with %+v",
				want.Model.Name, len(state.Node(have).Pods), state.Node(have).Used, len(want.Pods), want.Used))
		}
	}
}

// compile converts a pod as the scheduler does, once per version.
func (a *audit) compile(obj *corev1.Pod) *model.Pod {
	if p := a.compiled[obj.UID]; p != nil && p.ResourceVersion == obj.ResourceVersion {
		return p
	}
	p := a.w.Scheduler.Converter().Pod(obj)
	a.compiled[obj.UID] = p
	return p
}

// describeDifference describes how a pod in the scheduler's state differs from the store, or
// returns "".
func describeDifference(known, is *model.Pod, atRest, assumed bool) string {
	switch {
	case known == nil:
		return "is not in the state"
	case !assumed && known.NodeName != is.NodeName:
		return fmt.Sprintf("is on %q in the state and on %q in the store", known.NodeName, is.NodeName)
	case known.Phase != is.Phase || known.Ready != is.Ready || !slices.Equal(known.Labels, is.Labels) || known.Spec != is.Spec && !reflect.DeepEqual(known.Spec, is.Spec):
		return "differs between state and store"
	case is.Deleting && !known.Deleting:
		return "is not terminating in the state"
	case atRest && (is.Deleting != known.Deleting || is.DisruptionReason != known.DisruptionReason):
		return "is terminating in the state only"
	case atRest && known.NominatedNodeName != "" && is.NominatedNodeName != known.NominatedNodeName: // an extra nomination is corrected by the next decision
		return fmt.Sprintf("is nominated to %q in the state and to %q in the store", known.NominatedNodeName, is.NominatedNodeName)
	}
	return ""
}

// CheckSettled checks a cluster after all faults are cleared and everything had time to
// settle: no pod may be pending that could be scheduled. It waits for a moment without
// activity, as containers may restart forever.
func (w *Cluster) CheckSettled() error {
	a := w.audit
	for end := w.Now().Add(5 * time.Minute); !w.Scheduler.IsIdle() && w.Next(end); {
	}
	if w.Violation() == nil && w.Scheduler.IsIdle() {
		a.compareWithStore(true)
		a.checkNoPodWouldFit()
	} else if w.Violation() == nil {
		requests, events, inputs := w.Scheduler.InFlight()
		a.fail("NoBusyLoop", fmt.Sprintf("the scheduler does not become idle: %d requests, %d watch events and %d inputs are in flight", requests, events, inputs))
	}
	return w.Violation()
}

func (a *audit) checkNoPodWouldFit() {
	m := a.w.Scheduler.Machine()
	for _, o := range a.w.API().List(store.Pods) {
		p := m.State().Pod(string(o.GetUID()))
		if p == nil || p.NodeName != "" || p.Finished() || p.Deleting {
			continue
		}
		profile := a.profileOf(p)
		if _, attempted := m.PodState(p.UID); profile == nil || attempted {
			continue
		}
		rec := placement.Evaluate(m.State(), profile, a.w.o.TieBreakSeed, p)
		if rec.Outcome == decision.Scheduled {
			a.fail("NoPendingPodFits", fmt.Sprintf("pod %s is pending and would fit %s", p.Key(), rec.Choice))
		}
		if rec.Outcome != decision.Infeasible {
			continue
		}
		made := preemption.Evaluate(m.State(), profile, a.w.o.TieBreakSeed, a.w.o.Preemption, p, rec)
		if made.Preemption.Outcome == decision.PreemptionNominated {
			a.fail("NoPendingPodCouldPreempt", fmt.Sprintf("pod %s is pending and could preempt on %s: %s", p.Key(), made.Preemption.Node, victimNames(&made.Preemption)))
		}
	}
}

// victimNames returns the keys of the victims.
func victimNames(p *decision.Preemption) string {
	var names []string
	for _, v := range p.Victims {
		names = append(names, v.Key())
	}
	return strings.Join(names, " ")
}
