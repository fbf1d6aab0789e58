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
	"github.com/berthproject/berth/engine/descheduling/execution"
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
	view        *execution.View
	events      []scheduling.Event
	holds       *v1alpha1.Client // nil: none are read
	holdsServed atomic.Bool      // Holds are served and may be read
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
func newClusterState(client kubernetes.Interface, holds *v1alpha1.Client, schedulers []string, c clock.Clock) *clusterState {
	w := &clusterState{clock: c, source: informers.New(client), view: execution.NewView(cluster.New()), knownSchedulers: map[string]bool{},
		pods: map[string]*model.Pod{}, namespaces: map[string]model.Labels{}, priorities: map[string]int32{}, claimStorageClasses: map[string]string{},
		podDetails: map[string]*descheduling.PodDetails{}, notReady: map[string]bool{}}
	for _, s := range schedulers {
		w.knownSchedulers[s] = true
	}
	if holds != nil {
		w.holds = holds
		w.source.WatchHolds(holds)
		w.source.OnServed(w.observeHoldsServed)
	}
	w.source.ObserveObjects(w.observePod, w.observeNode)
	return w
}

func (w *clusterState) observePod(p *corev1.Pod) {
	details := conversion.Facts(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.podDetails[string(p.UID)] = details
}

func (w *clusterState) observeNode(n *corev1.Node) {
	notReady := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notReady[string(n.UID)] = notReady
}

// waitForSync waits until all kinds are listed.
func (w *clusterState) waitForSync(ctx context.Context) error {
	timer := w.clock.NewTimer(syncTimeout)
	defer timer.Stop()
	select {
	case <-w.source.Synced():
		w.applyEvents()
		return nil
	case <-timer.C():
		return fmt.Errorf("syncing the caches: %s not listed within %v: check that you may list and watch them", strings.Join(w.source.Unsynced(), ", "), syncTimeout)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *clusterState) applyEvents() {
	w.events = w.source.Take(w.events)
	for _, e := range w.events {
		switch e := e.(type) {
		case scheduling.Remove:
			w.remove(e.Object)
		default:
			w.upsert(e)
		}
	}
}

// snapshot returns the current state for the strategies.
func (w *clusterState) snapshot(now time.Time) *descheduling.Snapshot {
	s := w.view.State
	out := &descheduling.Snapshot{Now: now, Namespaces: w.namespaces, Budgets: s.AllBudgets(), Priorities: w.priorities, ClaimStorageClasses: w.claimStorageClasses}
	w.mu.Lock()
	defer w.mu.Unlock()
	var nodes []*descheduling.Node
	for _, id := range s.NodeIDs() {
		n := s.Node(id).Model
		nodes = append(nodes, &descheduling.Node{Node: n, NotReady: w.notReady[n.UID]})
	}
	pods := make([]*descheduling.Pod, 0, len(w.pods))
	for _, p := range w.pods {
		if details := w.podDetails[p.UID]; details != nil {
			pods = append(pods, &descheduling.Pod{Pod: p, Details: details})
		}
	}
	out.SetNodesAndPods(nodes, pods)
	return out
}
