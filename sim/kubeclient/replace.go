package kubeclient

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/berthproject/berth/sim/store"
)

// replaceSpec replaces an object except for its status and for what the API server sets. A change of the spec
// increments the generation.
func replaceSpec(current, update store.Object) error {
	next, _ := update.DeepCopyObject().(store.Object)
	to, from := reflect.ValueOf(current).Elem(), reflect.ValueOf(next).Elem()
	if status := from.FieldByName("Status"); status.IsValid() {
		status.Set(to.FieldByName("Status"))
	}
	keepServerFields(next, metadataOf(current))
	next.SetGeneration(current.GetGeneration())
	if equality.Semantic.DeepEqual(current, next) {
		return store.ErrUnchanged
	}
	if spec := from.FieldByName("Spec"); store.KindOf(next) != store.Pods && (!spec.IsValid() || !equality.Semantic.DeepEqual(spec.Interface(), to.FieldByName("Spec").Interface())) {
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
