package kubeclient

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// resource is the client of a kind in a namespace.
type resource[T store.Object] struct {
	c         *client
	kind      store.Kind
	namespace string
}

// Get reads an object from the API server, not from the cache.
func (r resource[T]) Get(_ context.Context, name string, _ metav1.GetOptions) (out T, err error) {
	err = r.send(sim.RequestGet, name, &out, func(string) error { return nil })
	return out, err
}

// Create creates a copy of an object.
func (r resource[T]) Create(_ context.Context, object T, _ metav1.CreateOptions) (out T, err error) {
	err = r.send(sim.RequestCreate, object.GetName(), &out, func(key string) error {
		created, _ := object.DeepCopyObject().(store.Object)
		if p, ok := created.(*corev1.Pod); ok {
			store.ApplyDefaults(p)
			r.c.w.API().AdmitPod(p)
		} else {
			created.SetGeneration(1)
		}
		if err := r.c.w.API().Create(created); err != nil {
			return err
		}
		r.c.logCreatedSet(key, created)
		return nil
	})
	if err == nil {
		r.c.logCreatedPod(object)
	}
	return out, err
}

// Update replaces an object except for its status.
func (r resource[T]) Update(_ context.Context, object T, _ metav1.UpdateOptions) (out T, err error) {
	kind := sim.RequestUpdate
	if r.kind == store.ReplicaSets {
		// Faults are a hash of the kind, so updates of ReplicaSets keep the name that recorded runs have.
		kind = sim.RequestScale
	}
	err = r.send(kind, object.GetName(), &out, func(key string) error { return r.update(key, object, replaceSpec) })
	return out, err
}

// UpdateStatus replaces the status of an object.
func (r resource[T]) UpdateStatus(_ context.Context, object T, _ metav1.UpdateOptions) (out T, err error) {
	err = r.send(sim.RequestSetStatus, object.GetName(), &out, func(key string) error { return r.update(key, object, replaceStatus) })
	return out, err
}

// update replaces a part of an object that has not changed since it was read.
func (r resource[T]) update(key string, object T, replace func(current, update store.Object) error) error {
	unchanged := store.Precondition{UID: string(object.GetUID()), ResourceVersion: object.GetResourceVersion()}
	return r.c.w.API().Update(r.kind, key, unchanged, func(current store.Object) error {
		before := replicas(current)
		err := replace(current, object)
		if err == nil {
			r.c.logScaledSet(key, before, current)
		}
		return err
	})
}

// Patch applies a strategic merge patch.
func (r resource[T]) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (out T, err error) {
	err = r.send(sim.RequestPatch, name, &out, func(key string) error {
		return r.c.w.API().Update(r.kind, key, store.Precondition{}, func(current store.Object) error {
			patched, err := mergePatch(current, data)
			if err != nil {
				return err
			}
			if patched.GetUID() != current.GetUID() {
				return apierrors.NewConflict(schema.GroupResource{Resource: string(r.kind)}, name, errUIDMismatch)
			}
			return replaceSpec(current, patched)
		})
	})
	return out, err
}

// Delete deletes an object: a pod with its grace period, other kinds at once.
func (r resource[T]) Delete(_ context.Context, name string, o metav1.DeleteOptions) error {
	var pre store.Precondition
	if p := o.Preconditions; p != nil && p.UID != nil {
		pre.UID = string(*p.UID)
	}
	key := store.Key(r.namespace, name)
	return r.c.request(sim.RequestDelete, key, func() error {
		if r.kind != store.Pods {
			return r.c.w.API().Delete(r.kind, key, pre)
		}
		err := r.c.w.API().DeletePod(key, pre, o.GracePeriodSeconds)
		if err == nil {
			r.c.logDeletedPod(key)
		}
		return err
	})
}

// send sends a request for an object and sets out to the object after it.
func (r resource[T]) send(kind, name string, out *T, execute func(key string) error) error {
	key := store.Key(r.namespace, name)
	return r.c.request(kind, key, func() error {
		if err := execute(key); err != nil {
			return err
		}
		object, exists := r.c.w.API().Get(r.kind, key)
		if !exists {
			return apierrors.NewNotFound(schema.GroupResource{Resource: string(r.kind)}, name)
		}
		*out, _ = object.(T)
		return nil
	})
}
