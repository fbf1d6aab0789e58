package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/actuate"
	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/sim/store"
)

// recorder is the actor that writes the records that those who displaced could not, or do
// not, write, and that keeps owners off nodes that threw their pods out.
type recorder struct {
	*client
	tell   *loop // by pod, for those without a record
	avoid  *loop // by place
	owed   map[string]*corev1.Pod
	thrown map[place][]displace.Thrown
	owners map[place]*journal.Owner
}

// place is a node that an owner's pods may have to stay off.
type place struct{ namespace, owner, node string }

func (p place) key() string {
	return p.namespace + "/" + cluster.HoldName(p.owner, p.node, model.Avoid)
}

// settles is how long a record may take to come from who displaced the pod.
const settles = 2 * time.Second

func newRecorder(w *World) *recorder {
	r := &recorder{client: w.newClient("records", store.Nodes, store.Holds, store.Pods, store.Events)}
	r.tell, r.avoid = newLoop(r.client, r.tellOne), newLoop(r.client, r.avoidOne)
	r.end = func() {
		r.tell.forget()
		r.avoid.forget()
		w.audit.forgotten()
	}
	r.begin = func() {
		r.owed, r.thrown = map[string]*corev1.Pod{}, map[place][]displace.Thrown{}
		r.owners = map[place]*journal.Owner{}
		for _, k := range []store.Kind{store.Events, store.Pods} {
			for _, key := range sortedKeys(r.known[k]) {
				r.see(k, nil, r.known[k][key])
			}
		}
		for _, key := range sortedKeys(r.known[store.Holds]) {
			r.avoid.add(key, 0)
		}
	}
	r.see = r.look
	r.start()
	return r
}

func (r *recorder) look(_ store.Kind, old, now store.Object) {
	if now == nil {
		if p, ok := old.(*corev1.Pod); ok {
			r.displaced(p, true)
		}
		return
	}
	switch o := now.(type) {
	case *corev1.Pod:
		r.displaced(o, false)
	case *eventsv1.Event:
		r.event(o)
	case *corev1.Node:
		var keys []string
		for p := range r.thrown {
			if p.node == o.Name {
				keys = append(keys, p.key())
			}
		}
		slices.Sort(keys)
		for _, key := range keys {
			r.avoid.add(key, 0)
		}
	}
}

// displaced has a pod that was displaced looked after.
func (r *recorder) displaced(p *corev1.Pod, gone bool) {
	if causeOf(p) == displace.None || !gone && p.DeletionTimestamp == nil && !finished(p) {
		return
	}
	r.owed[string(p.UID)] = p
	r.tell.add(string(p.UID), settles)
}

// causeOf is why a pod was displaced, as its status tells.
func causeOf(p *corev1.Pod) displace.Cause {
	condition := ""
	if c := disrupted(p); c != nil {
		condition = c.Reason
	}
	return displace.Told(condition, p.Status.Reason, p.Status.Message)
}

// tellOne writes a record afterwards, if there is none.
func (r *recorder) tellOne(uid string, done func(time.Duration, error)) {
	p := r.owed[uid]
	if p == nil {
		done(0, nil)
		return
	}
	key := store.Key(p.Namespace, actuate.RecordName(p.Name, uid))
	if r.known[store.Events][key] != nil {
		delete(r.owed, uid)
		done(0, nil)
		return
	}
	rec := displace.Record{Cause: causeOf(p), Victim: r.w.intake.Pod(p), Node: p.Spec.NodeName, Opening: p.Status.Message}
	r.send("tell", keyOf(p), func() error { return r.w.record(&rec, "records") }, func(err error) {
		if err == nil {
			delete(r.owed, uid)
		}
		done(0, err)
	})
}

// event learns of a record whose pod's owner had better stay off the node.
func (r *recorder) event(e *eventsv1.Event) {
	text := e.Annotations[journal.Annotation]
	if text == "" || r.w.o.Holds.First <= 0 {
		return
	}
	d, err := journal.ParseDisplacement(text)
	if err != nil || d.Owner == nil {
		return
	}
	c, _ := displace.CauseOf(d.Cause)
	p := place{d.Pod.Namespace, d.Owner.UID, d.Node}
	if !c.Avoids() || slices.ContainsFunc(r.thrown[p], func(t displace.Thrown) bool { return t.UID == d.Pod.UID }) {
		return
	}
	t := displace.Thrown{UID: d.Pod.UID, Cause: c, At: d.Time}
	if d.Pod.Created != nil {
		t.Created = *d.Pod.Created
	}
	r.thrown[p] = append(r.thrown[p], t)
	r.owners[p] = d.Owner
	r.avoid.add(p.key(), 0)
}

// avoidOne makes, changes or ends the Hold of a place.
func (r *recorder) avoidOne(key string, done func(time.Duration, error)) {
	have, _ := r.known[store.Holds][key].(*v1alpha1.Hold)
	var at place
	for p := range r.thrown {
		if p.key() == key {
			at = p
		}
	}
	node := r.node(at.node)
	list := slices.DeleteFunc(slices.Clone(r.thrown[at]), func(t displace.Thrown) bool { return node == nil || over(t.Cause, t.At, node) })
	a, ok := r.w.o.Holds.Avoid(list)
	a.Until = a.Until.Add(time.Second - 1).Truncate(time.Second) // the API keeps whole seconds
	left := a.Until.Sub(r.w.now)
	switch {
	case ok && left > 0 && (have == nil || !have.Spec.Until.Time.Equal(a.Until)):
		want := holdOf(at, a, r.owners[at])
		r.send("hold", key, func() error { return r.w.putHold(want) }, func(err error) { done(left, err) })
	case ok && left > 0:
		done(left, nil)
	case have != nil:
		r.send("hold", key, func() error {
			r.w.tell("records", "hold", key, have.Spec.Owner.Name+" need not stay off "+have.Spec.Node+" any more")
			return r.w.api.Remove(store.Holds, key, store.Precondition{UID: string(have.UID)})
		}, func(err error) { done(0, err) })
	default:
		done(0, nil)
	}
}

// over says whether a cause has ended since it threw a pod out, as far as the node's object tells.
func over(c displace.Cause, since time.Time, n *corev1.Node) bool {
	switch c {
	case displace.Taint:
		return !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
	case displace.Pressure:
		return pressed(n) == "" && slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type != corev1.NodeReady && c.LastHeartbeatTime.After(since)
		})
	}
	return false
}

func holdOf(p place, a displace.Avoidance, o *journal.Owner) *v1alpha1.Hold {
	return &v1alpha1.Hold{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: cluster.HoldName(p.owner, p.node, model.Avoid)},
		Spec: v1alpha1.HoldSpec{Type: v1alpha1.Avoid, Node: p.node, Cause: a.Cause.String(), Count: a.Count, Until: metav1.NewTime(a.Until),
			Owner: v1alpha1.Owner{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: uid(o.UID)}, Victim: &v1alpha1.Victim{UID: uid(a.UID)}},
	}
}

// putHold makes a Hold, or changes it.
func (w *World) putHold(want *v1alpha1.Hold) error {
	key := keyOf(want)
	w.tell("records", "hold", key, want.Spec.Owner.Name+" is to stay off "+want.Spec.Node+" for "+want.Spec.Until.Sub(w.now).Round(time.Second).String())
	if _, there := w.api.Get(store.Holds, key); !there {
		return w.api.Create(want)
	}
	return w.api.Change(store.Holds, key, store.Precondition{}, func(o store.Object) error {
		if h, ok := o.(*v1alpha1.Hold); ok {
			h.Spec = want.Spec
		}
		return nil
	})
}
