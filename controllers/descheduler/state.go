package descheduler

import (
	"time"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/informers"
)

// clusterState is the descheduler's cache of the cluster: the view that placement uses, and objects that only
// descheduling reads.
type clusterState struct {
	view        *evacuation.View
	holdsServed bool // Holds are served and may be read
	// knownSchedulers are the schedulers with a profile; nominations by others are ignored.
	knownSchedulers map[string]bool

	pods                map[string]*model.Pod // all, by UID
	podDetails          map[string]*descheduling.PodDetails
	notReady            map[string]bool // the nodes, by UID, with a Ready condition that is not True
	namespaces          map[string]model.Labels
	priorities          map[string]int32
	claimStorageClasses map[string]string // by namespace/name of the claim
}

// newClusterState returns an empty state.
func newClusterState(schedulers []string) *clusterState {
	cs := &clusterState{view: evacuation.NewView(cluster.New()), knownSchedulers: map[string]bool{}, pods: map[string]*model.Pod{},
		podDetails: map[string]*descheduling.PodDetails{}, notReady: map[string]bool{}, namespaces: map[string]model.Labels{}, priorities: map[string]int32{}, claimStorageClasses: map[string]string{}}
	for _, s := range schedulers {
		cs.knownSchedulers[s] = true
	}
	return cs
}

// apply applies events of a source with details.
func (cs *clusterState) apply(events []scheduling.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case scheduling.Remove:
			cs.remove(e.Object)
		case informers.PodDetails:
			cs.podDetails[e.UID] = e.Details
		case informers.NodeReadiness:
			cs.notReady[e.UID] = e.NotReady
		case informers.KindServed:
			if e.Kind == v1alpha1.HoldsResource {
				cs.holdsServed = e.Served
			}
		default:
			cs.upsert(e)
		}
	}
}

// upsert adds or updates an object.
func (cs *clusterState) upsert(o any) {
	switch p := o.(type) {
	case *model.Pod:
		if !cs.knownSchedulers[p.Spec.SchedulerName] {
			p = p.WithoutNomination()
		}
		cs.pods[p.UID] = p
		cs.view.Upsert(p)
		o = p
	case *model.Namespace:
		cs.namespaces[p.Name] = p.Labels
	case *model.PriorityClass:
		cs.priorities[p.Name] = p.Value
	case *model.PersistentVolumeClaim:
		cs.claimStorageClasses[p.Namespace+"/"+p.Name] = p.ClassName()
	}
	cs.view.State.Upsert(o)
}

// remove removes an object. It reads only the identity of o.
func (cs *clusterState) remove(o any) {
	switch o := o.(type) {
	case *model.Pod:
		delete(cs.podDetails, o.UID)
		delete(cs.pods, o.UID)
		cs.view.Remove(o.UID)
	case *model.Node:
		if id, ok := cs.view.State.NodeID(o.Name); ok { // by UID: a new node of the same name may already exist
			delete(cs.notReady, cs.view.State.Node(id).Model.UID)
		}
	case *model.Namespace:
		delete(cs.namespaces, o.Name)
	case *model.PriorityClass:
		delete(cs.priorities, o.Name)
	case *model.PersistentVolumeClaim:
		delete(cs.claimStorageClasses, o.Namespace+"/"+o.Name)
	}
	cs.view.State.Remove(o)
}

// snapshot returns the current state for the strategies.
func (cs *clusterState) snapshot(now time.Time) *descheduling.Snapshot {
	s := cs.view.State
	out := &descheduling.Snapshot{Now: now, Namespaces: cs.namespaces, Budgets: s.AllBudgets(), Priorities: cs.priorities, ClaimStorageClasses: cs.claimStorageClasses}
	var nodes []*descheduling.Node
	for _, id := range s.NodeIDs() {
		n := s.Node(id).Model
		nodes = append(nodes, &descheduling.Node{Node: n, NotReady: cs.notReady[n.UID]})
	}
	pods := make([]*descheduling.Pod, 0, len(cs.pods))
	for _, p := range cs.pods {
		if details := cs.podDetails[p.UID]; details != nil {
			pods = append(pods, &descheduling.Pod{Pod: p, Details: details})
		}
	}
	out.SetNodesAndPods(nodes, pods)
	return out
}
