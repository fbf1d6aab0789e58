package installtest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	yamldocs "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// decode returns the objects of a YAML stream.
func decode(t *testing.T, stream []byte) (out []*unstructured.Unstructured) {
	t.Helper()
	for documents := yamldocs.NewYAMLReader(bufio.NewReader(bytes.NewReader(stream))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &o.Object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(o.Object) > 0 { // empty if the document has only comments
			out = append(out, o)
		}
	}
}

// read returns the objects of a YAML file.
func read(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, data)
}

// byName returns objects by kind, namespace and name. ClusterRoleBindings get names from their
// subjects and roles, because the names of some differ between the chart and the manifests.
func byName(objects []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	out := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		name := o.GetName()
		if o.GetKind() == "ClusterRoleBinding" {
			role, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
			subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
			name = subjects[0].(map[string]any)["name"].(string) + " to " + role
		}
		out[o.GetKind()+" "+o.GetNamespace()+"/"+name] = o
	}
	return out
}

// part is a part of an object.
type part struct {
	name string
	get  func(*unstructured.Unstructured) any
}

// field returns the part at the path of an object.
func field(path ...string) part {
	return part{path[len(path)-1], func(o *unstructured.Unstructured) any {
		value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
		return value
	}}
}

// sharedParts returns the parts of an object that the chart and the manifests must have in common.
func sharedParts(t *testing.T, o *unstructured.Unstructured) []part {
	t.Helper()
	switch o.GetKind() {
	case "ServiceAccount":
		return nil
	case "Role", "ClusterRole":
		return []part{field("rules")}
	case "RoleBinding", "ClusterRoleBinding":
		return []part{field("roleRef"), field("subjects")}
	case "CustomResourceDefinition":
		return []part{field("spec")}
	case "ConfigMap":
		return []part{{"data", func(o *unstructured.Unstructured) any { return parsedData(t, o) }}}
	case "Deployment", "DaemonSet":
		parts := []part{field("spec", "template", "spec", "securityContext"), field("spec", "template", "spec", "serviceAccountName"),
			field("spec", "template", "spec", "priorityClassName"), field("spec", "template", "spec", "nodeSelector"), field("spec", "template", "spec", "volumes")}
		for _, name := range []string{"args", "resources", "securityContext", "volumeMounts", "env"} {
			parts = append(parts, part{"container " + name, func(o *unstructured.Unstructured) any {
				containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
				return containers[0].(map[string]any)[name]
			}})
		}
		return parts
	}
	t.Fatalf("%s %s: the test does not support this kind", o.GetKind(), o.GetName())
	return nil
}

// parsedData returns the YAML files of a ConfigMap.
func parsedData(t *testing.T, o *unstructured.Unstructured) any {
	t.Helper()
	files, _, _ := unstructured.NestedStringMap(o.Object, "data")
	out := map[string]any{}
	for name, text := range files {
		var value any
		if err := yaml.UnmarshalStrict([]byte(text), &value); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = value
	}
	return out
}

// compare fails the test if got and want differ. It ignores the order of lists.
func compare(t *testing.T, description string, got, want any) {
	t.Helper()
	text := func(v any) string {
		data, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	gotList, isList := got.([]any)
	wantList, wantsList := want.([]any)
	if isList && wantsList {
		byText := func(x, y any) int { return bytes.Compare([]byte(text(x)), []byte(text(y))) }
		slices.SortFunc(gotList, byText)
		slices.SortFunc(wantList, byText)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s of the chart: got\n%swant, as in deploy/,\n%s", description, text(got), text(want))
	}
}
