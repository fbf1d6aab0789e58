package controllers

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
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// observeEvent handles a record whose cause makes the owner avoid the node.
func (r *Records) observeEvent(e *eventsv1.Event) {
	text := e.Annotations[journal.Annotation]
	if text == "" || r.backoff.First <= 0 {
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
func (r *Records) reconcileHold(key string, done func(time.Duration, error)) {
	current, _ := r.Cached(store.Holds)[key].(*v1alpha1.Hold)
	var at ownerNode
	for p := range r.evictions {
		if p.key() == key {
			at = p
		}
	}
	node := r.Node(at.node)
	list := slices.DeleteFunc(slices.Clone(r.evictions[at]), func(t enginedisplacement.Eviction) bool { return node == nil || causeEnded(t.Cause, t.At, node) })
	a, ok := r.backoff.Avoid(list)
	a.Until = a.Until.Add(time.Second - 1).Truncate(time.Second) // the API stores whole seconds
	remaining := a.Until.Sub(r.w.Now())
	switch {
	case ok && remaining > 0 && (current == nil || !current.Spec.Until.Time.Equal(a.Until)):
		want := newAvoidHold(at, a, r.owners[at])
		r.Request(sim.RequestHold, key, func() error { return r.upsertHold(want) }, func(err error) { done(remaining, err) })
	case ok && remaining > 0:
		done(remaining, nil)
	case current != nil:
		r.Request(sim.RequestHold, key, func() error {
			r.w.Log("records", "hold", key, "pods of "+current.Spec.Owner.Name+" no longer avoid "+current.Spec.Node)
			return r.w.API().Delete(store.Holds, key, store.Precondition{UID: string(current.UID)})
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
func (r *Records) upsertHold(want *v1alpha1.Hold) error {
	key := store.KeyOf(want)
	r.w.Log("records", "hold", key, "pods of "+want.Spec.Owner.Name+" avoid "+want.Spec.Node+" for "+want.Spec.Until.Sub(r.w.Now()).Round(time.Second).String())
	if _, exists := r.w.API().Get(store.Holds, key); !exists {
		return r.w.API().Create(want)
	}
	return r.w.API().Update(store.Holds, key, store.Precondition{}, func(o store.Object) error {
		if h, ok := o.(*v1alpha1.Hold); ok {
			h.Spec = want.Spec
		}
		return nil
	})
}
