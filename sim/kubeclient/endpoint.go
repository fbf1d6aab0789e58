package kubeclient

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// status is the subresource.
const status = "status"

// request is a request about an object.
type request struct {
	verb, subresource, name string
	object                  store.Object // of Create and Update
	patch                   []byte
	onSend                  func(*sim.Request) // called before it is sent; may be nil
}

// send sends a request, logs what it changes, and returns the object after it, or the last one if it was deleted.
func (e endpoint) send(ctx context.Context, r request, execute func(key string) (store.Object, error)) (out store.Object, err error) {
	key := store.Key(e.namespace, r.name)
	sent := &sim.Request{ObjectKind: e.kind, IsRead: r.verb == "get" || r.verb == "list"}
	sent.Kind, sent.Key = e.faultKind(r, key)
	sent.Execute = func() error {
		before, _ := e.c.w.API().Get(e.kind, key)
		after, err := execute(key)
		if err == nil && after != before {
			e.logChange(ctx, before, after)
		}
		if out = after; after == nil {
			out = before
		}
		return err
	}
	if r.onSend != nil {
		r.onSend(sent)
	}
	err = e.c.request(ctx, sent)
	return out, err
}

// logChange logs what a request has changed.
func (e endpoint) logChange(ctx context.Context, before, after store.Object) {
	if o := operationOf(ctx); o != nil && o.Log != nil {
		o.Log(before, after)
		return
	}
	e.c.logChange(before, after)
}

// stored returns the stored object, or nil.
func (e endpoint) stored(key string) store.Object {
	o, _ := e.c.w.API().Get(e.kind, key)
	return o
}

func (e endpoint) notFound(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: string(e.kind)}, name)
}

func (e endpoint) get(ctx context.Context, name string) (store.Object, error) {
	return e.send(ctx, request{verb: "get", name: name}, func(key string) (store.Object, error) {
		o := e.stored(key)
		if o == nil {
			return nil, e.notFound(name)
		}
		return o, nil
	})
}

func (e endpoint) list(ctx context.Context, o metav1.ListOptions) (out []store.Object, err error) {
	byLabel, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, err
	}
	byField, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return nil, err
	}
	_, err = e.send(ctx, request{verb: "list"}, func(string) (store.Object, error) {
		for _, object := range e.c.w.API().List(e.kind) {
			if (e.namespace == "" || object.GetNamespace() == e.namespace) && byLabel.Matches(labels.Set(object.GetLabels())) && (byField.Empty() || byField.Matches(fieldsOf(object))) {
				out = append(out, object)
			}
		}
		return nil, nil
	})
	return out, err
}

// fieldsOf returns the fields of an object that field selectors may contain.
func fieldsOf(o store.Object) fields.Set {
	set := fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()}
	if p, ok := o.(*corev1.Pod); ok {
		set["spec.nodeName"], set["spec.schedulerName"], set["status.phase"] = p.Spec.NodeName, p.Spec.SchedulerName, string(p.Status.Phase)
	}
	return set
}

// newList returns a list of objects.
func newList[L runtime.Object](objects []store.Object) L {
	out, _ := reflect.New(reflect.TypeFor[L]().Elem()).Interface().(L)
	items := reflect.ValueOf(out).Elem().FieldByName("Items")
	for _, o := range objects {
		items.Set(reflect.Append(items, reflect.ValueOf(o.DeepCopyObject()).Elem()))
	}
	return out
}

func (e endpoint) create(ctx context.Context, o store.Object) (store.Object, error) {
	created, err := e.send(ctx, request{verb: "create", name: o.GetName(), object: o}, func(string) (store.Object, error) {
		created, _ := o.DeepCopyObject().(store.Object)
		created.SetNamespace(e.namespace)
		if p, ok := created.(*corev1.Pod); ok {
			store.ApplyDefaults(p)
			e.c.w.API().AdmitPod(p)
		} else {
			created.SetGeneration(1)
		}
		if err := e.c.w.API().Create(created); err != nil {
			return nil, err
		}
		return created, nil
	})
	if err == nil {
		e.c.logCreatedPod(created)
	}
	return created, err
}

// update replaces a part of an object that has not changed since it was read.
func (e endpoint) update(ctx context.Context, o store.Object, subresource string, replace func(current, update store.Object) error) (store.Object, error) {
	return e.send(ctx, request{verb: "update", subresource: subresource, name: o.GetName(), object: o}, func(key string) (store.Object, error) {
		unchanged := store.Precondition{UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion()}
		err := e.c.w.API().Update(e.kind, key, unchanged, func(current store.Object) error { return replace(current, o) })
		return e.stored(key), err
	})
}

func (e endpoint) patch(ctx context.Context, name string, t types.PatchType, data []byte, subresources []string) (store.Object, error) {
	r := request{verb: "patch", name: name, patch: data}
	if len(subresources) > 0 {
		r.subresource = subresources[0]
	}
	return e.send(ctx, r, func(key string) (store.Object, error) {
		err := e.c.w.API().Update(e.kind, key, store.Precondition{}, func(current store.Object) error {
			return applyPatch(current, t, data, r.subresource == status)
		})
		return e.stored(key), err
	})
}

func (e endpoint) delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	_, err := e.send(ctx, request{verb: "delete", name: name}, func(key string) (store.Object, error) {
		var pre store.Precondition
		if p := o.Preconditions; p != nil && p.UID != nil {
			pre.UID = string(*p.UID)
		}
		if p := o.Preconditions; p != nil && p.ResourceVersion != nil {
			pre.ResourceVersion = *p.ResourceVersion
		}
		if e.kind == store.Pods {
			err := e.deletePod(ctx, key, pre, o.GracePeriodSeconds)
			return e.stored(key), err
		}
		err := e.c.w.API().Delete(e.kind, key, pre, finalizers(o.PropagationPolicy)...)
		return e.stored(key), err
	})
	return err
}

// DeletingPod is the notice that an actor is about to delete a pod that is not being deleted.
type DeletingPod struct {
	Actor  string
	Pod    *corev1.Pod // as stored
	Cached *corev1.Pod // in the actor's cache; may be nil
	Cause  any         // that of the Operation; nil: none
}

func (e endpoint) deletePod(ctx context.Context, key string, pre store.Precondition, grace *int64) error {
	if p := e.c.w.API().Pod(key); p != nil && p.DeletionTimestamp == nil && pre.Check(store.Pods, p) == nil {
		n := DeletingPod{Actor: e.c.actor.Name(), Pod: p, Cached: e.c.actor.Pod(key)}
		if o := operationOf(ctx); o != nil {
			n.Cause = o.Cause
		}
		e.c.w.Notify(n)
	}
	return e.c.w.API().DeletePod(key, pre, grace)
}

// finalizers returns the finalizers that the API server adds for a propagation policy.
func finalizers(p *metav1.DeletionPropagation) []string {
	switch {
	case p != nil && *p == metav1.DeletePropagationForeground:
		return []string{metav1.FinalizerDeleteDependents}
	case p != nil && *p == metav1.DeletePropagationOrphan:
		return []string{metav1.FinalizerOrphanDependents}
	}
	return nil
}
