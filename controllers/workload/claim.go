package workload

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Owner is a workload to which objects belong.
type Owner struct {
	Kind schema.GroupVersionKind
	// Object is the workload: for its name, uid and events. It is not changed.
	Object Object
	// Selector says which objects without a controller are to be its own.
	Selector labels.Selector
	// GetLive asks the API server, not the cache, for the workload, before anything is adopted.
	GetLive func(ctx context.Context) (metav1.Object, error)
	// Adopts says which pods without a controller it takes; nil: all that it selects.
	Adopts func(*corev1.Pod) bool
}

// Object is an API object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Reference is the owner reference of what belongs to the owner.
func (o *Owner) Reference() metav1.OwnerReference { return *metav1.NewControllerRef(o.Object, o.Kind) }

// Patch changes the owner references of one object.
type Patch func(ctx context.Context, name string, kind types.PatchType, data []byte) error

// Claim tells which of the objects are the owner's. On the way those that it selects and that have no
// controller are adopted, and its own that it does not select any more are released. adopts (nil: all) says
// which may be adopted. An error does not spoil the list: it says what could not be adopted or released.
func Claim[T metav1.Object](ctx context.Context, o *Owner, objects []T, adopts func(T) bool, patch Patch) (own []T, err error) {
	checked := false
	for _, obj := range objects {
		ref := metav1.GetControllerOfNoCopy(obj)
		matches := o.Selector.Matches(labels.Set(obj.GetLabels()))
		switch {
		case ref != nil && ref.UID != o.Object.GetUID():
		case ref != nil && (matches || o.Object.GetDeletionTimestamp() != nil):
			own = append(own, obj)
		case ref != nil:
			if e := release(ctx, o, obj, patch); e != nil {
				err = fmt.Errorf("releasing %s: %w", obj.GetName(), e)
			}
		case matches && o.Object.GetDeletionTimestamp() == nil && obj.GetDeletionTimestamp() == nil && (adopts == nil || adopts(obj)):
			if !checked {
				if e := o.checkAlive(ctx); e != nil {
					return own, e
				}
				checked = true
			}
			switch e := adopt(ctx, o, obj, patch); {
			case e == nil:
				own = append(own, obj)
			case !apierrors.IsNotFound(e):
				err = fmt.Errorf("adopting %s: %w", obj.GetName(), e)
			}
		}
	}
	return own, err
}

// checkAlive is an error if the owner is not there any more, or is to go.
func (o *Owner) checkAlive(ctx context.Context) error {
	now, err := o.GetLive(ctx)
	if err != nil {
		return err
	}
	if now.GetUID() != o.Object.GetUID() {
		return fmt.Errorf("%s %s/%s was replaced by another one of the same name", o.Kind.Kind, now.GetNamespace(), now.GetName())
	}
	if now.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s %s/%s is being deleted, so it adopts nothing", o.Kind.Kind, now.GetNamespace(), now.GetName())
	}
	return nil
}

func adopt(ctx context.Context, o *Owner, obj metav1.Object, patch Patch) error {
	return patch(ctx, obj.GetName(), types.StrategicMergePatchType, referencePatch(obj.GetUID(), o.Reference()))
}

func release(ctx context.Context, o *Owner, obj metav1.Object, patch Patch) error {
	err := patch(ctx, obj.GetName(), types.StrategicMergePatchType, releasePatch(obj.GetUID(), o.Object.GetUID()))
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return nil // it is gone, or replaced, or has no such owner
	}
	return err
}

// referencePatch adds an owner reference; the uid makes it fail on another object of the same name.
func referencePatch(uid types.UID, ref metav1.OwnerReference) []byte {
	return mustMarshal(map[string]any{"metadata": map[string]any{"uid": uid, "ownerReferences": []metav1.OwnerReference{ref}}})
}

func releasePatch(uid, owner types.UID) []byte {
	return mustMarshal(map[string]any{"metadata": map[string]any{"uid": uid,
		"ownerReferences": []map[string]any{{"$patch": "delete", "uid": owner}}}})
}

// mustMarshal writes what cannot fail to be written.
func mustMarshal(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}
