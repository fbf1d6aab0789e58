package displacementrecords

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/journal"
)

// controller maintains displacement records and Avoid Holds.
type controller struct {
	o                       Options
	log                     klog.Logger
	now                     func() time.Time
	started                 time.Time
	settleDelay, batchDelay time.Duration
	displacer               displacer.Displacer
	pods                    corelisters.PodLister
	nodes                   corelisters.NodeLister
	records                 cache.Indexer // of entries
	holds                   holdStore     // nil: Holds are disabled
	unservedLogged          bool          // see resync

	recordQueue  runner.Queue[string]    // UIDs of pods that may need a record
	ownerQueue   runner.Queue[owner]     // owners whose records may be incomplete
	journalQueue runner.Queue[string]    // keys of entries that the journal may lack
	holdQueue    runner.Queue[ownerNode] // nodes that an owner's pods may have to avoid

	mu          sync.Mutex
	pending     map[string]*corev1.Pod        // by UID: the pods of recordQueue
	openRecords map[owner]map[string]bool     // incomplete records, by pod ID
	openOwners  map[string]owner              // by pod ID: the owner in the incomplete record of the pod
	deletedAt   map[string]time.Time          // by pod ID: when a pod with an incomplete record was deleted
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

// Run maintains displacement records until ctx is done; see workqueue.Run and Add.
func Run(ctx context.Context, p runner.Process, o Options) error {
	return run(ctx, p, newHoldStore(p.Client, o), o)
}

func run(ctx context.Context, p runner.Process, holds holdStore, o Options) error {
	events := informers.NewSharedInformerFactoryWithOptions(p.Client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = journal.Label }))
	return workqueue.Run(ctx, p, component, func(p *runner.Process) error {
		return newController(p, o).add(p, events.Events().V1().Events().Informer(), holds)
	}, events)
}

// Add adds the controller to a process. The informer must deliver all events that carry records.
func Add(p *runner.Process, events cache.SharedIndexInformer, o Options) error {
	return newController(p, o).add(p, events, newHoldStore(p.Client, o))
}

func newController(p *runner.Process, o Options) *controller {
	c := &controller{o: o, log: p.Log, now: p.Now, started: p.Now(), settleDelay: defaultSettleDelay, batchDelay: defaultBatchDelay,
		pending: map[string]*corev1.Pod{}, openRecords: map[owner]map[string]bool{}, openOwners: map[string]owner{}, deletedAt: map[string]time.Time{}, journaled: map[string]int{}, ownerNodes: map[string]map[ownerNode]bool{}}
	c.displacer = displacer.Displacer{Client: p.Client, Now: func() time.Time { return c.now() }, Component: component, Instance: component + "-" + p.Host, OnDisplaced: o.OnDisplaced}
	c.recordQueue = runner.NewQueue(p, runner.QueueOptions{Name: "displacement_records", Action: "Writing the displacement record", Workers: workers}, c.writeMissingRecord)
	c.ownerQueue = runner.NewQueue(p, runner.QueueOptions{Name: "displacement_completions", Action: "Completing displacement records", Workers: workers}, c.completeRecords)
	c.journalQueue = runner.NewQueue(p, runner.QueueOptions{Name: "displacement_journal", Action: "Writing to the journal", Workers: 2 * workers}, c.journalRecord)
	c.holdQueue = runner.NewQueue(p, runner.QueueOptions{Name: "avoid_holds", Action: "Reconciling the Avoid Hold", Workers: 1}, c.reconcileHold)
	return c
}

// add adds the controller to a process. If holds is nil, Holds are neither read nor written.
func (c *controller) add(p *runner.Process, records cache.SharedIndexInformer, holds holdStore) error {
	if err := c.loadJournal(); err != nil {
		return err
	}
	if c.holds = holds; holds != nil {
		runner.Repeat(p, resyncInterval, c.resync)
	}
	if err := records.SetTransform(toEntry); err != nil {
		return err
	}
	if err := records.AddIndexers(indexers); err != nil {
		return err
	}
	pods, nodes := p.Informers.Core().V1().Pods(), p.Informers.Core().V1().Nodes()
	c.records, c.pods, c.nodes = records.GetIndexer(), pods.Lister(), nodes.Lister()
	p.Queues.WaitFor(records.HasSynced, pods.Informer().HasSynced, nodes.Informer().HasSynced)
	return errors.Join(workqueue.Watch(records, c.onRecord), workqueue.Watch(pods.Informer(), c.onPod), workqueue.Watch(nodes.Informer(), c.onNode))
}

// loadJournal reads which records the journal contains.
func (c *controller) loadJournal() error {
	list, malformed, err := c.o.Journal.Read()
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	for _, lineErr := range malformed {
		c.log.Error(lineErr, "Skipping a malformed journal line")
	}
	for _, d := range list {
		if c.now().Sub(d.Time) < 2*maxRecordAge {
			c.journaled[d.Pod.ID()] = d.Completeness()
		}
	}
	return nil
}

// onRecord handles an added, updated or deleted record.
func (c *controller) onRecord(old, cur *entry) {
	hasRecord, hadRecord := cur != nil && cur.rec != nil, old != nil && old.rec != nil
	if hadRecord && (!hasRecord || cur.owner() != old.owner()) {
		c.forget(old, cur == nil)
	}
	if !hasRecord {
		return
	}
	c.journalQueue.Add(cur.Namespace + "/" + cur.Name)
	key := cur.owner()
	if c.trackOpen(cur, key) {
		c.ownerQueue.AddAfter(key, c.batchDelay)
	}
	if cause, ok := recordCause(cur.rec); ok && cause.Avoids() && cur.rec.Owner != nil && !hadRecord {
		c.enqueueOwnerNode(cur.ownerNode())
	}
}

// trackOpen marks a record as open or complete and reports whether it is open.
func (c *controller) trackOpen(e *entry, key owner) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if isComplete(e.rec, c.now()) {
		c.closeRecord(e, key)
		return false
	}
	if c.openRecords[key] == nil {
		c.openRecords[key] = map[string]bool{}
	}
	c.openRecords[key][e.rec.Pod.ID()] = true
	c.openOwners[e.rec.Pod.ID()] = key
	return true
}

// forget drops the state of a record. deleted reports whether its event was deleted.
func (c *controller) forget(e *entry, deleted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeRecord(e, e.owner())
	if deleted {
		delete(c.journaled, e.rec.Pod.ID())
	}
}

// closeRecord marks a record as complete. The caller must hold mu.
func (c *controller) closeRecord(e *entry, key owner) {
	delete(c.openRecords[key], e.rec.Pod.ID())
	delete(c.openOwners, e.rec.Pod.ID())
	delete(c.deletedAt, e.rec.Pod.ID())
	if len(c.openRecords[key]) == 0 {
		delete(c.openRecords, key)
	}
}
