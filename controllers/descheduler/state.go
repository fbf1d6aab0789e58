package descheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/informers"
	"github.com/berthproject/berth/internal/conversion"
)

// syncTimeout bounds the initial sync of the caches.
const syncTimeout = 2 * time.Minute

// clusterState is the descheduler's cache of the cluster: the view that placement uses, and
// objects that only descheduling reads.
type clusterState struct {
	clock       clock.Clock
	source      *informers.Source
	view        *evacuation.View
	events      []scheduling.Event // buffer of applyEvents
	holds       *v1alpha1.Client   // nil: none are read
	holdsServed atomic.Bool        // Holds are served and may be read
	// knownSchedulers are the schedulers with a profile; nominations by others are ignored.
	knownSchedulers map[string]bool

	pods                map[string]*model.Pod // all, by UID
	namespaces          map[string]model.Labels
	priorities          map[string]int32
	claimStorageClasses map[string]string // by namespace/name of the claim

	mu         sync.Mutex // guards what the informers write
	podDetails map[string]*descheduling.PodDetails
	// notReady are the nodes, by UID, with a Ready condition that is not True.
	notReady map[string]bool
}

// newClusterState returns an empty state.
func newClusterState(schedulers []string, c clock.Clock) *clusterState {
	cs := &clusterState{clock: c, view: evacuation.NewView(cluster.New()), knownSchedulers: map[string]bool{},
		pods: map[string]*model.Pod{}, namespaces: map[string]model.Labels{}, priorities: map[string]int32{}, claimStorageClasses: map[string]string{},
		podDetails: map[string]*descheduling.PodDetails{}, notReady: map[string]bool{}}
	for _, s := range schedulers {
		cs.knownSchedulers[s] = true
	}
	return cs
}

// watch prepares the informers. Without it, the state is filled with upsert.
func (cs *clusterState) watch(client kubernetes.Interface, holds *v1alpha1.Client) {
	cs.source = informers.New(client)
	if holds != nil {
		cs.holds = holds
		cs.source.WatchHolds(holds)
		cs.source.OnServed(cs.observeHoldsServed)
	}
	cs.source.ObserveObjects(cs.observePod, cs.observeNode)
	cs.source.WatchFinishedPods()
}

func (cs *clusterState) observePod(p *corev1.Pod) {
	details := conversion.PodDetails(p)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.podDetails[string(p.UID)] = details
}

func (cs *clusterState) observeNode(n *corev1.Node) {
	notReady := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	})
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.notReady[string(n.UID)] = notReady
}

// observeHoldsServed records whether Holds are served.
func (cs *clusterState) observeHoldsServed(kind string, served bool) {
	if kind == v1alpha1.HoldsResource {
		cs.holdsServed.Store(served)
	}
}

// waitForSync waits until all kinds are listed.
func (cs *clusterState) waitForSync(ctx context.Context) error {
	timer := cs.clock.NewTimer(syncTimeout)
	defer timer.Stop()
	select {
	case <-cs.source.Synced():
		cs.applyEvents()
		return nil
	case <-timer.C():
		return fmt.Errorf("syncing the caches: %s not listed within %v: check that you may list and watch them", strings.Join(cs.source.Unsynced(), ", "), syncTimeout)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (cs *clusterState) applyEvents() {
	cs.events = cs.source.Take(cs.events)
	for _, e := range cs.events {
		switch e := e.(type) {
		case scheduling.Remove:
			cs.remove(e.Object)
		default:
			cs.upsert(e)
		}
	}
}

// snapshot returns the current state for the strategies.
func (cs *clusterState) snapshot(now time.Time) *descheduling.Snapshot {
	s := cs.view.State
	out := &descheduling.Snapshot{Now: now, Namespaces: cs.namespaces, Budgets: s.AllBudgets(), Priorities: cs.priorities, ClaimStorageClasses: cs.claimStorageClasses}
	cs.mu.Lock()
	defer cs.mu.Unlock()
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
