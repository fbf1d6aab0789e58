package cluster

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/cluster"
	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/store"
)

// displacementRecorder is the displacement records controller: it adds missing records, and
// creates Avoid Holds for nodes that evicted pods.
type displacementRecorder struct {
	*sim.Client
	w              *Cluster
	recordQueue    *sim.WorkQueue // by pod
	holdQueue      *sim.WorkQueue // by Hold key
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

func newDisplacementRecorder(w *Cluster) *displacementRecorder {
	r := &displacementRecorder{w: w}
	r.Client = w.NewClient("records", r, store.Nodes, store.Holds, store.Pods, store.Events)
	r.recordQueue, r.holdQueue = sim.NewWorkQueue(r.Client, r.writeRecord), sim.NewWorkQueue(r.Client, r.reconcileHold)
	r.Start()
	return r
}

// OnStop implements sim.Controller.
func (r *displacementRecorder) OnStop() {
	r.recordQueue.Reset()
	r.holdQueue.Reset()
}

// OnSynced implements sim.Controller.
func (r *displacementRecorder) OnSynced() {
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
func (r *displacementRecorder) OnChange(_ store.Kind, old, now store.Object) {
	if now == nil {
		if p, ok := old.(*corev1.Pod); ok {
			r.trackDisplaced(p, true)
		}
		return
	}
	switch o := now.(type) {
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
func (r *displacementRecorder) trackDisplaced(p *corev1.Pod, gone bool) {
	if causeOf(p) == enginedisplacement.None || !gone && p.DeletionTimestamp == nil && !store.Finished(p) {
		return
	}
	r.pendingRecords[string(p.UID)] = p
	r.recordQueue.Add(string(p.UID), recordDelay)
}

// causeOf returns the displacement cause by the pod's status.
func causeOf(p *corev1.Pod) enginedisplacement.Cause {
	condition := ""
	if c := store.DisruptionTarget(p); c != nil {
		condition = c.Reason
	}
	return enginedisplacement.CauseFromStatus(condition, p.Status.Reason, p.Status.Message)
}

// writeRecord creates the record of a pod if it is missing.
func (r *displacementRecorder) writeRecord(uid string, done func(time.Duration, error)) {
	p := r.pendingRecords[uid]
	if p == nil {
		done(0, nil)
		return
	}
	key := store.Key(p.Namespace, executor.RecordEventName(p.Name, uid))
	if r.Cached(store.Events)[key] != nil {
		delete(r.pendingRecords, uid)
		done(0, nil)
		return
	}
	rec := enginedisplacement.Record{Cause: causeOf(p), Victim: r.w.Converter().Pod(p), Node: p.Spec.NodeName, MessagePrefix: p.Status.Message}
	r.Request("tell", store.KeyOf(p), func() error { return displacement.CreateRecordEvent(r.w.World, &rec, "records") }, func(err error) {
		if err == nil {
			delete(r.pendingRecords, uid)
		}
		done(0, err)
	})
}

// observeEvent handles a record whose cause makes the owner avoid the node.
func (r *displacementRecorder) observeEvent(e *eventsv1.Event) {
	text := e.Annotations[journal.Annotation]
	if text == "" || r.w.o.AvoidHolds.First <= 0 {
		return
	}
	d, err := journal.ParseDisplacement(text)
	if err != nil || d.Owner == nil {
		return
	}
	c, _ := enginedisplacement.ParseCause(d.Cause)
	p := ownerNode{d.Pod.Namespace, d.Owner.UID, d.Node}
	if !c.Avoids() || slices.ContainsFunc(r.evictions[p], func(t enginedisplacement.Eviction) bool { return t.UID == d.Pod.UID }) {
		return
	}
	t := enginedisplacement.Eviction{UID: d.Pod.UID, Cause: c.AvoidCause(d.Message), At: d.Time}
	if d.Pod.Created != nil {
		t.Created = *d.Pod.Created
	}
	r.evictions[p] = append(r.evictions[p], t)
	r.owners[p] = d.Owner
	r.holdQueue.Add(p.key(), 0)
}

// reconcileHold creates, updates or deletes an Avoid Hold.
func (r *displacementRecorder) reconcileHold(key string, done func(time.Duration, error)) {
	have, _ := r.Cached(store.Holds)[key].(*v1alpha1.Hold)
	var at ownerNode
	for p := range r.evictions {
		if p.key() == key {
			at = p
		}
	}
	node := r.Node(at.node)
	list := slices.DeleteFunc(slices.Clone(r.evictions[at]), func(t enginedisplacement.Eviction) bool { return node == nil || causeEnded(t.Cause, t.At, node) })
	a, ok := r.w.o.AvoidHolds.Avoid(list)
	a.Until = a.Until.Add(time.Second - 1).Truncate(time.Second) // the API stores whole seconds
	left := a.Until.Sub(r.w.Now())
	switch {
	case ok && left > 0 && (have == nil || !have.Spec.Until.Time.Equal(a.Until)):
		want := newAvoidHold(at, a, r.owners[at])
		r.Request("hold", key, func() error { return r.w.upsertHold(want) }, func(err error) { done(left, err) })
	case ok && left > 0:
		done(left, nil)
	case have != nil:
		r.Request("hold", key, func() error {
			r.w.Log("records", "hold", key, "pods of "+have.Spec.Owner.Name+" no longer avoid "+have.Spec.Node)
			return r.w.API().Delete(store.Holds, key, store.Precondition{UID: string(have.UID)})
		}, func(err error) { done(0, err) })
	default:
		done(0, nil)
	}
}

// causeEnded reports whether the node's object shows that a cause has ended.
func causeEnded(c enginedisplacement.Cause, since time.Time, n *corev1.Node) bool {
	switch c {
	case enginedisplacement.Taint:
		return !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
	case enginedisplacement.Pressure:
		return store.PressureCondition(n) == "" && slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type != corev1.NodeReady && c.LastHeartbeatTime.After(since)
		})
	}
	return false
}

func newAvoidHold(p ownerNode, a enginedisplacement.Avoidance, o *journal.Owner) *v1alpha1.Hold {
	return &v1alpha1.Hold{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: cluster.HoldName(p.owner, p.node, model.Avoid)},
		Spec: v1alpha1.HoldSpec{Type: v1alpha1.Avoid, Node: p.node, Cause: a.Cause.String(), Count: a.Count, Until: metav1.NewTime(a.Until),
			Owner: v1alpha1.Owner{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: types.UID(o.UID)}, Victim: &v1alpha1.Victim{UID: types.UID(a.UID)}},
	}
}

// upsertHold creates or updates a Hold.
func (w *Cluster) upsertHold(want *v1alpha1.Hold) error {
	key := store.KeyOf(want)
	w.Log("records", "hold", key, "pods of "+want.Spec.Owner.Name+" avoid "+want.Spec.Node+" for "+want.Spec.Until.Sub(w.Now()).Round(time.Second).String())
	if _, there := w.API().Get(store.Holds, key); !there {
		return w.API().Create(want)
	}
	return w.API().Update(store.Holds, key, store.Precondition{}, func(o store.Object) error {
		if h, ok := o.(*v1alpha1.Hold); ok {
			h.Spec = want.Spec
		}
		return nil
	})
}
