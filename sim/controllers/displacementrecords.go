package controllers

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/cluster"
	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/store"
)

// Records is the displacement records controller. StartRecords creates it: it adds missing records, and
// creates Avoid Holds for nodes that evicted pods.
type Records struct {
	*sim.Client
	w              *sim.World
	backoff        enginedisplacement.Backoff // of Avoid Holds
	recordQueue    *sim.WorkQueue             // by pod
	holdQueue      *sim.WorkQueue             // by Hold key
	pendingRecords map[string]*corev1.Pod
	evictions      map[ownerNode][]enginedisplacement.Eviction
	owners         map[ownerNode]*journal.Owner
}

// ownerNode is an owner and a node to avoid.
type ownerNode struct{ namespace, owner, node string }

func (p ownerNode) key() string {
	return p.namespace + "/" + cluster.HoldName(p.owner, p.node, model.Avoid)
}

// recordDelay is how long the displacing actor may take to create the record.
const recordDelay = 2 * time.Second

// StartRecords starts the controller. It creates no Avoid Holds if backoff.First is 0.
func StartRecords(w *sim.World, backoff enginedisplacement.Backoff) *Records {
	r := &Records{w: w, backoff: backoff}
	r.Client = w.NewClient("records", r, store.Nodes, store.Holds, store.Pods, store.Events)
	r.recordQueue, r.holdQueue = sim.NewWorkQueue(r.Client, r.writeRecord), sim.NewWorkQueue(r.Client, r.reconcileHold)
	r.Start()
	return r
}

// OnStop implements sim.Controller.
func (r *Records) OnStop() {
	r.recordQueue.Reset()
	r.holdQueue.Reset()
}

// OnSynced implements sim.Controller.
func (r *Records) OnSynced() {
	r.pendingRecords, r.evictions = map[string]*corev1.Pod{}, map[ownerNode][]enginedisplacement.Eviction{}
	r.owners = map[ownerNode]*journal.Owner{}
	for _, k := range []store.Kind{store.Events, store.Pods} {
		for _, key := range r.Keys(k) {
			r.OnChange(k, nil, r.Cached(k)[key])
		}
	}
	for _, key := range r.Keys(store.Holds) {
		r.holdQueue.Add(key, 0)
	}
}

// OnChange implements sim.Controller.
func (r *Records) OnChange(_ store.Kind, old, current store.Object) {
	if current == nil {
		if p, ok := old.(*corev1.Pod); ok {
			r.trackDisplaced(p, true)
		}
		return
	}
	switch o := current.(type) {
	case *corev1.Pod:
		r.trackDisplaced(o, false)
	case *eventsv1.Event:
		r.observeEvent(o)
	case *corev1.Node:
		var keys []string
		for p := range r.evictions {
			if p.node == o.Name {
				keys = append(keys, p.key())
			}
		}
		slices.Sort(keys)
		for _, key := range keys {
			r.holdQueue.Add(key, 0)
		}
	}
}

// trackDisplaced enqueues a displaced pod.
func (r *Records) trackDisplaced(p *corev1.Pod, deleted bool) {
	if causeOf(p) == enginedisplacement.None || !deleted && p.DeletionTimestamp == nil && !store.Finished(p) {
		return
	}
	r.pendingRecords[string(p.UID)] = p
	r.recordQueue.Add(string(p.UID), recordDelay)
}

// causeOf returns the displacement cause by the pod's status.
func causeOf(p *corev1.Pod) enginedisplacement.Cause {
	condition := ""
	if c := conversion.ActiveDisruptionTarget(p); c != nil {
		condition = c.Reason
	}
	return enginedisplacement.CauseFromStatus(condition, p.Status.Reason, p.Status.Message)
}

// writeRecord creates the record of a pod if it is missing.
func (r *Records) writeRecord(uid string, done func(time.Duration, error)) {
	p := r.pendingRecords[uid]
	if p == nil {
		done(0, nil)
		return
	}
	key := store.Key(p.Namespace, displacer.RecordEventName(p.Name, uid))
	if r.Cached(store.Events)[key] != nil {
		delete(r.pendingRecords, uid)
		done(0, nil)
		return
	}
	rec := enginedisplacement.Record{Cause: causeOf(p), Victim: r.w.Converter().Pod(p), Node: p.Spec.NodeName, MessagePrefix: p.Status.Message}
	r.Request(sim.RequestEvent, store.KeyOf(p), func() error { return displacement.CreateRecordEvent(r.w, &rec, "records") }, func(err error) {
		if err == nil {
			delete(r.pendingRecords, uid)
		}
		done(0, err)
	})
}

// IsWatching reports whether the controller observes changes of pods.
func (r *Records) IsWatching() bool { return r.IsSynced() && r.Reflector().Watches(store.Pods) }

// HasObservedDisplacement reports whether the controller has observed that a pod is displaced.
func (r *Records) HasObservedDisplacement(key string, uid types.UID) bool {
	if r.pendingRecords[string(uid)] != nil {
		return true
	}
	p := r.Pod(key)
	return p != nil && p.UID == uid && conversion.ActiveDisruptionTarget(p) != nil
}
