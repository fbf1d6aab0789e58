package records

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/actuate"
	"github.com/berthproject/berth/control/loop"
	"github.com/berthproject/berth/internal/journal"
)

// keeper is the loop.
type keeper struct {
	o              Options
	now            func() time.Time
	settle, gather time.Duration
	door           actuate.Displacer
	pods           corelisters.PodLister
	nodes          corelisters.NodeLister
	records        cache.Indexer // of entries
	holds          holdStore     // nil: none

	tells  *loop.Loop[string] // uids of pods that a record may have to be written of
	owners *loop.Loop[owner]  // whose records may not be complete
	lines  *loop.Loop[string] // keys of entries that the journal may not have
	avoids *loop.Loop[place]  // nodes that owners' pods may have to stay off

	mu      sync.Mutex
	pending map[string]*corev1.Pod    // by uid: what tells is about
	open    map[owner]map[string]bool // pods, by id
	left    map[string]time.Time      // by id: when a pod of an owner with open records was gone
	known   map[string]int            // by id: how much the journal knows
	places  map[string]map[place]bool // by node
}

// owner names the controller of displaced pods; a pod without one stands for itself.
type owner struct{ namespace, uid string }

// entry is an event that carries a record, as it is kept.
type entry struct {
	metav1.ObjectMeta
	rec *journal.Displacement // nil: none that can be believed
}

func (e *entry) owner() owner {
	if o := e.rec.Owner; o != nil {
		return owner{e.rec.Pod.Namespace, o.UID}
	}
	return owner{e.rec.Pod.Namespace, "pod/" + e.rec.Pod.UID}
}

// Indexes of entries.
const byOwner, byPlace = "owner", "place"

var indexers = cache.Indexers{
	byOwner: func(obj any) ([]string, error) {
		if e, ok := obj.(*entry); ok && e.rec != nil {
			return []string{e.owner().namespace + "/" + e.owner().uid}, nil
		}
		return nil, nil
	},
	byPlace: func(obj any) ([]string, error) {
		if e, ok := obj.(*entry); ok && e.rec != nil && e.rec.Owner != nil && e.rec.Node != "" {
			return []string{e.place().String()}, nil
		}
		return nil, nil
	},
}

// slim makes an entry of an event.
func slim(obj any) (any, error) {
	e, ok := obj.(*eventsv1.Event)
	if !ok {
		return obj, nil
	}
	return &entry{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name, UID: e.UID, ResourceVersion: e.ResourceVersion}, rec: Of(e)}, nil
}

// Run looks after records until ctx ends. It returns an error only if it could not start.
func Run(ctx context.Context, o Options) error {
	k := newKeeper(o)
	var holds holdStore
	if o.Holds != nil {
		holds = &client{holds: o.Holds, discovery: o.Client.Discovery()}
	}
	return k.run(ctx, holds)
}

func newKeeper(o Options) *keeper {
	k := &keeper{o: o, now: time.Now, settle: settle, gather: gather,
		pending: map[string]*corev1.Pod{}, open: map[owner]map[string]bool{}, left: map[string]time.Time{}, known: map[string]int{}, places: map[string]map[place]bool{}}
	host, _ := os.Hostname()
	k.door = actuate.Displacer{Client: o.Client, Now: func() time.Time { return k.now() }, Component: component, Instance: component + "-" + host, Count: o.Count}
	k.tells = loop.New("displacement_records", "Writing the record of a displaced pod", o.Log, k.tell)
	k.owners = loop.New("displacement_completions", "Completing the records of displaced pods", o.Log, k.complete)
	k.lines = loop.New("displacement_journal", "Writing to the journal", o.Log, k.keep)
	k.avoids = loop.New("avoid_holds", "Keeping pods off a node that threw them out", o.Log, k.avoid)
	return k
}

func (k *keeper) run(ctx context.Context, holds holdStore) error {
	if err := k.remember(); err != nil {
		return err
	}
	k.holds = holds
	events := informers.NewSharedInformerFactoryWithOptions(k.o.Client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = journal.Label }))
	synced, err := k.watch(events)
	if err != nil {
		return err
	}
	events.Start(ctx.Done())
	k.o.Factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { k.tells.Run(ctx, workers) })
	wg.Go(func() { k.owners.Run(ctx, workers) })
	wg.Go(func() { k.lines.Run(ctx, 2*workers) })
	if holds != nil {
		wg.Go(func() { k.avoids.Run(ctx, 1) })
		wg.Go(func() { k.sweeps(ctx) })
	}
	<-ctx.Done()
	return nil
}

// watch has the loops told of what concerns them.
func (k *keeper) watch(events informers.SharedInformerFactory) ([]cache.InformerSynced, error) {
	kept := events.Events().V1().Events().Informer()
	if err := kept.SetTransform(slim); err != nil {
		return nil, err
	}
	if err := kept.AddIndexers(indexers); err != nil {
		return nil, err
	}
	core := k.o.Factory.Core().V1()
	pods, nodes := core.Pods().Informer(), core.Nodes().Informer()
	k.records, k.pods, k.nodes = kept.GetIndexer(), core.Pods().Lister(), core.Nodes().Lister()
	if err := loop.Watch(kept, k.recorded); err != nil {
		return nil, err
	}
	if err := loop.Watch(pods, k.seePod); err != nil {
		return nil, err
	}
	if err := loop.Watch(nodes, k.seeNode); err != nil {
		return nil, err
	}
	return []cache.InformerSynced{kept.HasSynced, pods.HasSynced, nodes.HasSynced}, nil
}

// remember reads what the journal knows already.
func (k *keeper) remember() error {
	list, faults, err := k.o.Journal.Read()
	if err != nil {
		return fmt.Errorf("records: %w", err)
	}
	for _, f := range faults {
		k.o.Log.Error(f, "A line of the journal cannot be read, and is passed over")
	}
	for _, d := range list {
		if k.now().Sub(d.Time) < 2*tooOld {
			k.known[d.Pod.ID()] = d.Weight()
		}
	}
	return nil
}

// recorded takes in that a record came, changed or went.
func (k *keeper) recorded(old, now *entry) {
	is, was := now != nil && now.rec != nil, old != nil && old.rec != nil
	if was && (!is || now.owner() != old.owner()) {
		k.forget(old, now == nil)
	}
	if !is {
		return
	}
	k.lines.Add(now.Namespace + "/" + now.Name)
	of := now.owner()
	if k.opened(now, of) {
		k.owners.AddAfter(of, k.gather)
	}
	if c, ok := causeOf(now.rec); ok && c.Avoids() && now.rec.Owner != nil && !was {
		k.toAvoid(now.place())
	}
}

// opened notes whether a record waits for something.
func (k *keeper) opened(e *entry, of owner) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if done(e.rec, k.now()) {
		k.close(e, of)
		return false
	}
	if k.open[of] == nil {
		k.open[of] = map[string]bool{}
	}
	k.open[of][e.rec.Pod.ID()] = true
	return true
}

// forget drops what a record said that says so no more. Gone: its event is not there any more either.
func (k *keeper) forget(e *entry, gone bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.close(e, e.owner())
	if gone {
		delete(k.known, e.rec.Pod.ID())
	}
}

// close notes that a record waits for nothing. The lock is held.
func (k *keeper) close(e *entry, of owner) {
	delete(k.open[of], e.rec.Pod.ID())
	delete(k.left, e.rec.Pod.ID())
	if len(k.open[of]) == 0 {
		delete(k.open, of)
	}
}
