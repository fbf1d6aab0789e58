package invariants

import (
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/sim/store"
)

// compareWithStore compares the scheduler's state with the store. Unless settled is set, the
// scheduler may be ahead: pods may be assumed or being evicted.
func (a *Checker) compareWithStore(settled bool) {
	s := a.o.Scheduler
	state := s.Machine().State()
	stored := cluster.New()
	for _, o := range a.w.API().List(store.Nodes) {
		if n, ok := s.Converter().Compile(o).(*model.Node); ok {
			stored.UpsertNode(n)
		}
	}
	assumed := false
	for obj := range store.All[*corev1.Pod](a.w.API()) {
		if store.Finished(obj) {
			continue
		}
		p := a.compile(obj)
		stored.UpsertPod(p)
		assumed = assumed || state.Assumed(p.UID)
		if detail := describeDifference(state.Pod(p.UID), p, settled, state.Assumed(p.UID)); detail != "" {
			a.w.Fail("StateEqualsStore", "pod "+p.Key()+" "+detail)
		}
	}
	if state.NumNodes() != stored.NumNodes() {
		a.failf("StateEqualsStore", "%d nodes are in the state, %d in the store", state.NumNodes(), stored.NumNodes())
		return
	}
	for _, id := range stored.NodeIDs() {
		want := stored.Node(id)
		stateID, ok := state.NodeID(want.Model.Name)
		switch {
		case !ok:
			a.w.Fail("StateEqualsStore", "node "+want.Model.Name+" is not in the state")
		case !reflect.DeepEqual(s.Machine().ReportedNode(want.Model.Name), want.Model):
			a.failf("StateEqualsStore", "node %s is %+v in the state and %+v in the store", want.Model.Name, *s.Machine().ReportedNode(want.Model.Name), *want.Model)
		case !assumed && (len(state.Node(stateID).Pods) != len(want.Pods) || !reflect.DeepEqual(state.Node(stateID).Used, want.Used)):
			a.w.Fail("StateEqualsStore", fmt.Sprintf("node %s has %d pods using %+v in the state, and %d pods using %+v in the store",
				want.Model.Name, len(state.Node(stateID).Pods), state.Node(stateID).Used, len(want.Pods), want.Used))
		}
	}
}

// compile converts a pod as the scheduler does, once per version.
func (a *Checker) compile(obj *corev1.Pod) *model.Pod {
	if p := a.compiled[obj.UID]; p != nil && p.ResourceVersion == obj.ResourceVersion {
		return p
	}
	p := a.o.Scheduler.Converter().Pod(obj)
	a.compiled[obj.UID] = p
	return p
}

// describeDifference describes how a pod in the scheduler's state differs from the store, or
// returns "".
func describeDifference(inState, stored *model.Pod, settled, assumed bool) string {
	switch {
	case inState == nil:
		return "is not in the state"
	case !assumed && inState.NodeName != stored.NodeName:
		return fmt.Sprintf("is on %q in the state and on %q in the store", inState.NodeName, stored.NodeName)
	case inState.Phase != stored.Phase:
		return fmt.Sprintf("has phase %v in the state and %v in the store", inState.Phase, stored.Phase)
	case inState.Ready != stored.Ready:
		return fmt.Sprintf("has ready=%v in the state and ready=%v in the store", inState.Ready, stored.Ready)
	case !slices.Equal(inState.Labels, stored.Labels):
		return fmt.Sprintf("has labels %v in the state and %v in the store", inState.Labels, stored.Labels)
	case inState.Spec != stored.Spec && !reflect.DeepEqual(inState.Spec, stored.Spec):
		return fmt.Sprintf("has specification %+v in the state and %+v in the store", inState.Spec, stored.Spec)
	case stored.Deleting && !inState.Deleting:
		return "is not terminating in the state"
	case settled && stored.Deleting != inState.Deleting:
		return "is terminating in the state only"
	case settled && stored.DisruptionReason != inState.DisruptionReason:
		return fmt.Sprintf("has disruption reason %q in the state and %q in the store", inState.DisruptionReason, stored.DisruptionReason)
	// A nomination that is only in the store is allowed: the next decision clears it.
	case settled && inState.NominatedNodeName != "" && stored.NominatedNodeName != inState.NominatedNodeName:
		return fmt.Sprintf("is nominated to %q in the state and to %q in the store", inState.NominatedNodeName, stored.NominatedNodeName)
	}
	return ""
}
