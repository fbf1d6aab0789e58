package registry

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// All k8s.io/api types have the same layout: TypeMeta, ObjectMeta, content fields (usually Spec)
// and optionally Status. The functions below rely on it.

// clearStatus sets the status to its zero value.
func clearStatus(obj runtime.Object) {
	status := reflect.ValueOf(obj).Elem().FieldByName("Status")
	status.SetZero()
}

// copyStatus copies the status of from to obj.
func copyStatus(obj, from runtime.Object) {
	reflect.ValueOf(obj).Elem().FieldByName("Status").Set(reflect.ValueOf(from).Elem().FieldByName("Status"))
}

// copyContent copies all fields of from except metadata and status to obj.
func copyContent(obj, from runtime.Object) {
	to, source := reflect.ValueOf(obj).Elem(), reflect.ValueOf(from).Elem()
	for _, i := range contentFields(to.Type()) {
		to.Field(i).Set(source.Field(i))
	}
}

// sameContent reports whether a and b are equal except for metadata and status.
func sameContent(a, b runtime.Object) bool {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for _, i := range contentFields(x.Type()) {
		if !equality.Semantic.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			return false
		}
	}
	return true
}

func contentFields(t reflect.Type) []int {
	var content []int
	for i := range t.NumField() {
		switch t.Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
		default:
			content = append(content, i)
		}
	}
	return content
}

// contentPaths returns the JSON names of the content fields.
func contentPaths(obj runtime.Object) []string {
	t := reflect.TypeOf(obj).Elem()
	var names []string
	for _, i := range contentFields(t) {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// pathSet converts dotted paths to a field path set.
func pathSet(paths []string) *fieldpath.Set {
	set := fieldpath.NewSet()
	for _, path := range paths {
		var elements []any
		for _, name := range strings.Split(path, ".") {
			elements = append(elements, name)
		}
		set.Insert(fieldpath.MakePathOrDie(elements...))
	}
	return set
}
