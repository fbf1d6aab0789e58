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

// Owner is a workload that owns objects.
type Owner struct {
	Kind schema.GroupVersionKind
	// Object is the workload: its name, UID and the target of events. It is not modified.
	Object Object
	// Selector selects the objects without a controller that the owner adopts.
	Selector labels.Selector
	// GetLive reads the workload from the API server before anything is adopted.
	GetLive func(ctx context.Context) (metav1.Object, error)
	// Adopts reports whether a selected pod without a controller may be adopted. Nil adopts all.
	Adopts func(*corev1.Pod) bool
}

// Object is an API object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Reference returns the owner reference for objects of the owner.
func (o *Owner) Reference() metav1.OwnerReference { return *metav1.NewControllerRef(o.Object, o.Kind) }

// Patch changes the owner references of one object.
type Patch func(ctx context.Context, name string, kind types.PatchType, data []byte) error

// Claim returns the objects of the owner. It adopts selected objects that have no controller, and releases owned
// objects that are no longer selected. adopts reports which objects may be adopted; nil allows all. If the
// owner's check before the first adoption fails, the list may be incomplete. After any other error the list is
// valid, and the error names the last object that could not be adopted or released.
func Claim[T metav1.Object](ctx context.Context, o *Owner, objects []T, adopts func(T) bool, patch Patch) (claimed []T, err error) {
	checked := false
	for _, obj := range objects {
		ref := metav1.GetControllerOfNoCopy(obj)
		matches := o.Selector.Matches(labels.Set(obj.GetLabels()))
		switch {
		case ref != nil && ref.UID != o.Object.GetUID():
		case ref != nil && (matches || o.Object.GetDeletionTimestamp() != nil):
			claimed = append(claimed, obj)
		case ref != nil:
			if e := release(ctx, o, obj, patch); e != nil {
				err = fmt.Errorf("releasing %s: %w", obj.GetName(), e)
			}
		case matches && o.Object.GetDeletionTimestamp() == nil && obj.GetDeletionTimestamp() == nil && (adopts == nil || adopts(obj)):
			if !checked {
				if e := o.checkAlive(ctx); e != nil {
					return claimed, e
				}
				checked = true
			}
			switch e := adopt(ctx, o, obj, patch); {
			case e == nil:
				claimed = append(claimed, obj)
			case !apierrors.IsNotFound(e):
				err = fmt.Errorf("adopting %s: %w", obj.GetName(), e)
			}
		}
	}
	return claimed, err
}

// checkAlive returns an error if the owner was deleted, replaced, or is being deleted.
func (o *Owner) checkAlive(ctx context.Context) error {
	current, err := o.GetLive(ctx)
	if err != nil {
		return err
	}
	if current.GetUID() != o.Object.GetUID() {
		return fmt.Errorf("%s %s/%s was replaced", o.Kind.Kind, current.GetNamespace(), current.GetName())
	}
	if current.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s %s/%s is being deleted", o.Kind.Kind, current.GetNamespace(), current.GetName())
	}
	return nil
}

func adopt(ctx context.Context, o *Owner, obj metav1.Object, patch Patch) error {
	return patch(ctx, obj.GetName(), types.StrategicMergePatchType, referencePatch(obj.GetUID(), o.Reference()))
}

func release(ctx context.Context, o *Owner, obj metav1.Object, patch Patch) error {
	err := patch(ctx, obj.GetName(), types.StrategicMergePatchType, releasePatch(obj.GetUID(), o.Object.GetUID()))
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return nil // deleted, replaced, or without such an owner
	}
	return err
}

// referencePatch returns a patch that adds an owner reference. The UID makes it fail on a replaced
// object.
func referencePatch(uid types.UID, ref metav1.OwnerReference) []byte {
	return mustMarshal(map[string]any{"metadata": map[string]any{"uid": uid, "ownerReferences": []metav1.OwnerReference{ref}}})
}

func releasePatch(uid, owner types.UID) []byte {
	return mustMarshal(map[string]any{"metadata": map[string]any{"uid": uid,
		"ownerReferences": []map[string]any{{"$patch": "delete", "uid": owner}}}})
}

// mustMarshal encodes a value whose encoding cannot fail.
func mustMarshal(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}
