package kubeclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/berthproject/berth/sim/store"
)

var errUIDMismatch = errors.New("the UID in the patch does not match")

// replaceSpec replaces an object except for its status and for what the API server sets. A change of the spec
// increments the generation.
func replaceSpec(current, update store.Object) error {
	next, _ := update.DeepCopyObject().(store.Object)
	to, from := reflect.ValueOf(current).Elem(), reflect.ValueOf(next).Elem()
	if status := from.FieldByName("Status"); status.IsValid() {
		status.Set(to.FieldByName("Status"))
	}
	next.SetResourceVersion(current.GetResourceVersion())
	next.SetGeneration(current.GetGeneration())
	next.SetCreationTimestamp(current.GetCreationTimestamp())
	next.SetDeletionTimestamp(current.GetDeletionTimestamp())
	next.SetDeletionGracePeriodSeconds(current.GetDeletionGracePeriodSeconds())
	if equality.Semantic.DeepEqual(current, next) {
		return store.ErrUnchanged
	}
	if spec := from.FieldByName("Spec"); spec.IsValid() && store.KindOf(next) != store.Pods && !equality.Semantic.DeepEqual(spec.Interface(), to.FieldByName("Spec").Interface()) {
		next.SetGeneration(current.GetGeneration() + 1)
	}
	to.Set(from)
	return nil
}

// replaceStatus replaces the status of an object. The status of update must not change afterwards.
func replaceStatus(current, update store.Object) error {
	to, from := reflect.ValueOf(current).Elem().FieldByName("Status"), reflect.ValueOf(update).Elem().FieldByName("Status")
	if equality.Semantic.DeepEqual(to.Interface(), from.Interface()) {
		return store.ErrUnchanged
	}
	to.Set(from)
	return nil
}

// mergePatch returns an object with a strategic merge patch of its metadata applied.
func mergePatch(o store.Object, patch []byte) (store.Object, error) {
	next, _ := o.DeepCopyObject().(store.Object)
	field := reflect.ValueOf(next).Elem().FieldByName("ObjectMeta")
	metadata, _ := field.Interface().(metav1.ObjectMeta)
	patched, err := patchMetadata(metadata, patch)
	if err != nil {
		return nil, fmt.Errorf("patching %s %s: %w", store.KindOf(o), store.KeyOf(o), err)
	}
	field.Set(reflect.ValueOf(patched))
	return next, nil
}

// patchMetadata applies a strategic merge patch, which must have only the field metadata.
func patchMetadata(metadata metav1.ObjectMeta, patch []byte) (metav1.ObjectMeta, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(patch, &fields); err != nil {
		return metadata, err
	}
	if len(fields) != 1 || fields["metadata"] == nil {
		return metadata, errors.New("want a patch of metadata only")
	}
	data, err := json.Marshal(metav1.PartialObjectMetadata{ObjectMeta: metadata})
	if err != nil {
		return metadata, err
	}
	if data, err = strategicpatch.StrategicMergePatch(data, patch, metav1.PartialObjectMetadata{}); err != nil {
		return metadata, err
	}
	var patched metav1.PartialObjectMetadata
	err = json.Unmarshal(data, &patched)
	return patched.ObjectMeta, err
}
