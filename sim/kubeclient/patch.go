package kubeclient

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/berthproject/berth/sim/store"
)

// applyPatch applies a strategic merge patch or a merge patch to an object: to its status, or to everything else. The UID
// and the resource version in a patch are preconditions. A change of the spec increments the generation.
func applyPatch(o store.Object, t types.PatchType, patch []byte, toStatus bool) error {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(patch, &parts); err != nil {
		return err
	}
	if err := checkPreconditions(o, parts); err != nil {
		return err
	}
	before, changed := metadataOf(o), false
	object := reflect.ValueOf(o).Elem()
	for i := range object.NumField() {
		name := fieldName(object.Type().Field(i))
		if parts[name] == nil || (name == status) != toStatus {
			continue
		}
		merged, err := mergeField(object.Field(i), t, parts[name])
		if err != nil {
			return fmt.Errorf("patching %s of %s %s: %w", name, store.KindOf(o), store.KeyOf(o), err)
		}
		if equality.Semantic.DeepEqual(object.Field(i).Interface(), merged.Interface()) {
			continue
		}
		changed = true
		object.Field(i).Set(merged)
		if name == "spec" && o.GetGeneration() > 0 {
			o.SetGeneration(o.GetGeneration() + 1)
		}
	}
	if !changed {
		return store.ErrUnchanged
	}
	keepServerFields(o, before)
	return nil
}

// fieldName returns the JSON name of a field.
func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// checkPreconditions checks the UID and the resource version of a patch. It removes the metadata from the parts if they
// contain nothing else.
func checkPreconditions(o store.Object, parts map[string]json.RawMessage) error {
	var metadata map[string]json.RawMessage
	if parts["metadata"] == nil {
		return nil
	}
	if err := json.Unmarshal(parts["metadata"], &metadata); err != nil {
		return err
	}
	var pre store.Precondition
	for name, value := range map[string]*string{"uid": &pre.UID, "resourceVersion": &pre.ResourceVersion} {
		if metadata[name] == nil {
			continue
		}
		if err := json.Unmarshal(metadata[name], value); err != nil {
			return err
		}
		delete(metadata, name)
	}
	if len(metadata) == 0 {
		delete(parts, "metadata")
	}
	return pre.Check(store.KindOf(o), o)
}

// mergeField returns a field with a patch applied.
func mergeField(field reflect.Value, t types.PatchType, patch []byte) (reflect.Value, error) {
	if status, ok := field.Interface().(corev1.PodStatus); ok && t == types.StrategicMergePatchType {
		if merged, ok := mergePodStatus(status, patch); ok {
			return reflect.ValueOf(merged), nil
		}
	}
	return mergeJSON(field, t, patch)
}

// mergeJSON is mergeField for all fields: it applies the patch to their JSON form. Only the parts of a struct that the patch
// names are encoded and decoded.
func mergeJSON(field reflect.Value, t types.PatchType, patch []byte) (reflect.Value, error) {
	merged, current, named := reflect.New(field.Type()), field.Interface(), []int(nil)
	if patch[0] == '{' {
		var err error
		if field.Kind() == reflect.Struct {
			if named, err = namedFields(field.Type(), patch); err != nil {
				return merged, err
			}
		}
		if named != nil {
			part := reflect.New(field.Type()).Elem()
			copyFields(part, field, named)
			current = part.Interface()
		}
		encoded, err := json.Marshal(current)
		if err != nil {
			return merged, err
		}
		if t == types.StrategicMergePatchType && field.Kind() == reflect.Struct {
			patch, err = strategicpatch.StrategicMergePatch(encoded, patch, field.Interface())
		} else {
			patch, err = jsonpatch.MergePatch(encoded, patch)
		}
		if err != nil {
			return merged, err
		}
	}
	err := json.Unmarshal(patch, merged.Interface())
	if named == nil || err != nil {
		return merged.Elem(), err
	}
	out := reflect.New(field.Type()).Elem()
	out.Set(field)
	copyFields(out, merged.Elem(), named)
	return out, nil
}

// namedFields returns the fields of a struct that a patch names, or nil if the patch also names something else, such as the
// directive $patch.
func namedFields(t reflect.Type, patch []byte) (fields []int, err error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(patch, &parts); err != nil {
		return nil, err
	}
	for i := range t.NumField() {
		if name := fieldName(t.Field(i)); name != "" && parts[name] != nil {
			fields = append(fields, i)
		}
	}
	if len(fields) < len(parts) {
		return nil, nil
	}
	return fields, nil
}

func copyFields(to, from reflect.Value, fields []int) {
	for _, i := range fields {
		to.Field(i).Set(from.Field(i))
	}
}

// metadataOf returns a copy of the metadata of an object.
func metadataOf(o store.Object) metav1.ObjectMeta {
	m, _ := reflect.ValueOf(o).Elem().FieldByName("ObjectMeta").Interface().(metav1.ObjectMeta)
	return m
}

// keepServerFields resets the metadata that only the API server sets.
func keepServerFields(o store.Object, before metav1.ObjectMeta) {
	o.SetUID(before.UID)
	o.SetResourceVersion(before.ResourceVersion)
	o.SetCreationTimestamp(before.CreationTimestamp)
	o.SetDeletionTimestamp(before.DeletionTimestamp)
	o.SetDeletionGracePeriodSeconds(before.DeletionGracePeriodSeconds)
}
