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

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/rebalance"
	"github.com/berthproject/berth/engine/rebalance/carry"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/feed"
	"github.com/berthproject/berth/internal/intake"
)

// listing is how long reading the cluster may take.
const listing = 2 * time.Minute

// world is the cluster as the descheduler knows it: what placement reads (view), and what descheduling reads
// beyond that. Of a pod no more is kept than that.
type world struct {
	feed   *feed.Feed
	view   *carry.View
	events []scheduling.Event
	holds  *v1alpha1.Client // nil: none are read
	served atomic.Bool      // they are served, and may be read
	// ours are the schedulers whose nominations keep room: those there are profiles of.
	ours map[string]bool

	pods       map[string]*model.Pod // all, by uid
	namespaces map[string]model.Labels
	priorities map[string]int32
	classes    map[string]string // of claims, by namespace/name

	mu    sync.Mutex // over what the feed writes by itself
	facts map[string]*rebalance.Facts
	// unready are the nodes, by uid, with a condition Ready that is not True.
	unready map[string]bool
}

// newWorld knows of nothing yet.
func newWorld(client kubernetes.Interface, holds *v1alpha1.Client, schedulers []string) *world {
	w := &world{feed: feed.New(client), view: carry.NewView(cluster.New()), ours: map[string]bool{},
		pods: map[string]*model.Pod{}, namespaces: map[string]model.Labels{}, priorities: map[string]int32{}, classes: map[string]string{},
		facts: map[string]*rebalance.Facts{}, unready: map[string]bool{}}
	for _, s := range schedulers {
		w.ours[s] = true
	}
	if holds != nil {
		w.holds = holds
		w.feed.Holds(holds)
		w.feed.Tell(w.holdsTold)
	}
	w.feed.Show(w.showPod, w.showNode)
	return w
}

func (w *world) showPod(p *corev1.Pod) {
	f := intake.Facts(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts[string(p.UID)] = f
}

func (w *world) showNode(n *corev1.Node) {
	unready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unready[string(n.UID)] = unready
}

// read waits until all has been listed.
func (w *world) read(ctx context.Context) error {
	late := time.NewTimer(listing)
	defer late.Stop()
	select {
	case <-w.feed.Synced():
		w.take()
		return nil
	case <-late.C:
		return fmt.Errorf("reading the cluster: no list of %s after %v: may you list and watch them?", strings.Join(w.feed.Waiting(), ", "), listing)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take takes in what has happened.
func (w *world) take() {
	w.events = w.feed.Take(w.events)
	for _, e := range w.events {
		switch e := e.(type) {
		case scheduling.Remove:
			w.drop(e.Object)
		default:
			w.put(e)
		}
	}
}

// snapshot is the cluster as it is now, as strategies read it.
func (w *world) snapshot(now time.Time) *rebalance.Snapshot {
	s := w.view.State
	out := &rebalance.Snapshot{Now: now, Namespaces: w.namespaces, Budgets: s.AllBudgets(), Priorities: w.priorities, Classes: w.classes}
	w.mu.Lock()
	defer w.mu.Unlock()
	var nodes []*rebalance.Node
	for _, id := range s.NodeIDs() {
		n := s.Node(id).Model
		nodes = append(nodes, &rebalance.Node{Node: n, NotReady: w.unready[n.UID]})
	}
	pods := make([]*rebalance.Pod, 0, len(w.pods))
	for _, p := range w.pods {
		if f := w.facts[p.UID]; f != nil {
			pods = append(pods, &rebalance.Pod{Pod: p, Facts: f})
		}
	}
	out.Place(nodes, pods)
	return out
}
