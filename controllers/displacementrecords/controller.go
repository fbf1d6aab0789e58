package displacementrecords

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

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/journal"
)

// controller maintains displacement records and Avoid Holds.
type controller struct {
	o                       Options
	now                     func() time.Time
	started                 time.Time
	settleDelay, batchDelay time.Duration
	displacer               displacer.Displacer
	pods                    corelisters.PodLister
	nodes                   corelisters.NodeLister
	records                 cache.Indexer // of entries
	holds                   holdStore     // nil: Holds are disabled

	recordQueue  *workqueue.Queue[string]    // UIDs of pods that may need a record
	ownerQueue   *workqueue.Queue[owner]     // owners whose records may be incomplete
	journalQueue *workqueue.Queue[string]    // keys of entries that the journal may lack
	holdQueue    *workqueue.Queue[ownerNode] // nodes that an owner's pods may have to avoid

	mu          sync.Mutex
	pending     map[string]*corev1.Pod        // by UID: the pods of recordQueue
	openRecords map[owner]map[string]bool     // incomplete records, by pod ID
	deletedAt   map[string]time.Time          // by pod ID: when a pod of an owner with open records was deleted
	journaled   map[string]int                // by pod ID: the completeness of the record in the journal
	ownerNodes  map[string]map[ownerNode]bool // by node
}

// owner identifies the controller of displaced pods. A pod without controller is its own owner.
type owner struct{ namespace, uid string }

// entry is the cached form of an event that carries a record.
type entry struct {
	metav1.ObjectMeta
	rec *journal.Displacement // nil: the record is missing or not trusted
}

func (e *entry) owner() owner {
	if o := e.rec.Owner; o != nil {
		return owner{e.rec.Pod.Namespace, o.UID}
	}
	return owner{e.rec.Pod.Namespace, "pod/" + e.rec.Pod.UID}
}

// Index names of entries.
const byOwner, byOwnerNode = "owner", "ownerNode"

var indexers = cache.Indexers{
	byOwner: func(obj any) ([]string, error) {
		if e, ok := obj.(*entry); ok && e.rec != nil {
			return []string{e.owner().namespace + "/" + e.owner().uid}, nil
		}
		return nil, nil
	},
	byOwnerNode: func(obj any) ([]string, error) {
		if e, ok := obj.(*entry); ok && e.rec != nil && e.rec.Owner != nil && e.rec.Node != "" {
			return []string{e.ownerNode().String()}, nil
		}
		return nil, nil
	},
}

// toEntry converts an event to an entry.
func toEntry(obj any) (any, error) {
	e, ok := obj.(*eventsv1.Event)
	if !ok {
		return obj, nil
	}
	return &entry{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name, UID: e.UID, ResourceVersion: e.ResourceVersion}, rec: FromEvent(e)}, nil
}

// Run maintains displacement records until ctx is done. It returns an error only if it cannot start.
func Run(ctx context.Context, o Options) error {
	k := newController(ctx, o)
	var holds holdStore
	if o.Holds != nil {
		holds = &apiHoldStore{holds: o.Holds, discovery: o.Client.Discovery()}
	}
	return k.run(ctx, holds)
}

func newController(ctx context.Context, o Options) *controller {
	k := &controller{o: o, now: o.Env.Now, started: o.Env.Now(), settleDelay: defaultSettleDelay, batchDelay: defaultBatchDelay,
		pending: map[string]*corev1.Pod{}, openRecords: map[owner]map[string]bool{}, deletedAt: map[string]time.Time{}, journaled: map[string]int{}, ownerNodes: map[string]map[ownerNode]bool{}}
	host, _ := os.Hostname()
	k.displacer = displacer.Displacer{Client: o.Client, Now: func() time.Time { return k.now() }, Component: component, Instance: component + "-" + host, OnDisplaced: o.OnDisplaced}
	k.recordQueue = workqueue.New(ctx, "displacement_records", "Writing the displacement record", o.Log, k.writeMissingRecord)
	k.ownerQueue = workqueue.New(ctx, "displacement_completions", "Completing displacement records", o.Log, k.completeRecords)
	k.journalQueue = workqueue.New(ctx, "displacement_journal", "Writing to the journal", o.Log, k.journalRecord)
	k.holdQueue = workqueue.New(ctx, "avoid_holds", "Reconciling the Avoid Hold", o.Log, k.reconcileHold)
	return k
}

func (k *controller) run(ctx context.Context, holds holdStore) error {
	if err := k.loadJournal(); err != nil {
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
	parts := []func(){
		func() { k.recordQueue.Run(ctx, workers) },
		func() { k.ownerQueue.Run(ctx, workers) },
		func() { k.journalQueue.Run(ctx, 2*workers) },
	}
	if holds != nil {
		parts = append(parts, func() { k.holdQueue.Run(ctx, 1) }, func() { k.runResyncs(ctx) })
	}
	runner.Concurrently(parts...)
	return nil
}

func (k *controller) watch(events informers.SharedInformerFactory) ([]cache.InformerSynced, error) {
	records := events.Events().V1().Events().Informer()
	if err := records.SetTransform(toEntry); err != nil {
		return nil, err
	}
	if err := records.AddIndexers(indexers); err != nil {
		return nil, err
	}
	core := k.o.Factory.Core().V1()
	pods, nodes := core.Pods().Informer(), core.Nodes().Informer()
	k.records, k.pods, k.nodes = records.GetIndexer(), core.Pods().Lister(), core.Nodes().Lister()
	if err := workqueue.Watch(records, k.onRecord); err != nil {
		return nil, err
	}
	if err := workqueue.Watch(pods, k.onPod); err != nil {
		return nil, err
	}
	if err := workqueue.Watch(nodes, k.onNode); err != nil {
		return nil, err
	}
	return []cache.InformerSynced{records.HasSynced, pods.HasSynced, nodes.HasSynced}, nil
}

// loadJournal reads which records the journal contains.
func (k *controller) loadJournal() error {
	list, malformed, err := k.o.Journal.Read()
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	for _, lineErr := range malformed {
		k.o.Log.Error(lineErr, "Skipping a malformed journal line")
	}
	for _, d := range list {
		if k.now().Sub(d.Time) < 2*maxRecordAge {
			k.journaled[d.Pod.ID()] = d.Completeness()
		}
	}
	return nil
}

// onRecord handles an added, updated or deleted record.
func (k *controller) onRecord(old, cur *entry) {
	hasRecord, hadRecord := cur != nil && cur.rec != nil, old != nil && old.rec != nil
	if hadRecord && (!hasRecord || cur.owner() != old.owner()) {
		k.forget(old, cur == nil)
	}
	if !hasRecord {
		return
	}
	k.journalQueue.Add(cur.Namespace + "/" + cur.Name)
	key := cur.owner()
	if k.trackOpen(cur, key) {
		k.ownerQueue.AddAfter(key, k.batchDelay)
	}
	if c, ok := recordCause(cur.rec); ok && c.Avoids() && cur.rec.Owner != nil && !hadRecord {
		k.enqueueOwnerNode(cur.ownerNode())
	}
}

// trackOpen marks a record as open or complete and reports whether it is open.
func (k *controller) trackOpen(e *entry, key owner) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if isComplete(e.rec, k.now()) {
		k.closeRecord(e, key)
		return false
	}
	if k.openRecords[key] == nil {
		k.openRecords[key] = map[string]bool{}
	}
	k.openRecords[key][e.rec.Pod.ID()] = true
	return true
}

// forget drops the state of a record. deleted reports whether its event was deleted.
func (k *controller) forget(e *entry, deleted bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closeRecord(e, e.owner())
	if deleted {
		delete(k.journaled, e.rec.Pod.ID())
	}
}

// closeRecord marks a record as complete. The caller must hold the lock.
func (k *controller) closeRecord(e *entry, key owner) {
	delete(k.openRecords[key], e.rec.Pod.ID())
	delete(k.deletedAt, e.rec.Pod.ID())
	if len(k.openRecords[key]) == 0 {
		delete(k.openRecords, key)
	}
}
