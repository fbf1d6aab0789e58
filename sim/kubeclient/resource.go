package kubeclient

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/sim/store"
)

// resource is the typed client of a kind. L is the type of its lists.
type resource[T store.Object, L runtime.Object] struct{ endpoint }

func newResource[T store.Object, L runtime.Object](c *client, k store.Kind, namespace string) resource[T, L] {
	return resource[T, L]{endpoint{c, k, namespace}}
}

// as converts the result of a request. The caller may modify it, as a response that was decoded.
func as[T store.Object](o store.Object, err error) (T, error) {
	if err != nil || o == nil {
		var none T
		return none, err
	}
	out, _ := o.DeepCopyObject().(T)
	return out, nil
}

// Get reads an object from the API server, not from the cache.
func (r resource[T, L]) Get(ctx context.Context, name string, _ metav1.GetOptions) (T, error) {
	return as[T](r.get(ctx, name))
}

// List lists the objects that match the selectors.
func (r resource[T, L]) List(ctx context.Context, o metav1.ListOptions) (L, error) {
	list, err := r.list(ctx, o)
	if err != nil {
		var none L
		return none, err
	}
	return newList[L](list), nil
}

// Create creates a copy of an object.
func (r resource[T, L]) Create(ctx context.Context, o T, _ metav1.CreateOptions) (T, error) {
	return as[T](r.create(ctx, o))
}

// Update replaces an object except for its status.
func (r resource[T, L]) Update(ctx context.Context, o T, _ metav1.UpdateOptions) (T, error) {
	return as[T](r.update(ctx, o, "", replaceSpec))
}

// UpdateStatus replaces the status of an object.
func (r resource[T, L]) UpdateStatus(ctx context.Context, o T, _ metav1.UpdateOptions) (T, error) {
	return as[T](r.update(ctx, o, status, replaceStatus))
}

// Patch applies a strategic merge patch or a merge patch.
func (r resource[T, L]) Patch(ctx context.Context, name string, t types.PatchType, data []byte, _ metav1.PatchOptions, subresources ...string) (T, error) {
	return as[T](r.patch(ctx, name, t, data, subresources))
}

// Delete deletes an object: a pod with its grace period, other kinds at once.
func (r resource[T, L]) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	return r.delete(ctx, name, o)
}
