package kinds_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/apiserver/kinds"
	"github.com/berthproject/berth/apiserver/openapi"
)

// crd is the compared part of a CustomResourceDefinition.
type crd struct {
	Metadata struct{ Name string }
	Spec     struct {
		Group, Scope string
		Names        struct{ Kind, ListKind, Plural, Singular string }
		Versions     []struct {
			Name                     string
			SelectableFields         []struct{ JSONPath string }
			AdditionalPrinterColumns []struct{ Name, Type string }
			Schema                   struct{ OpenAPIV3Schema schema }
		}
	}
}

type schema struct {
	Type, Format         string
	Enum                 []any
	Default              any
	Required             []string
	Properties           map[string]schema
	Items                *schema
	AdditionalProperties *schema
	IntOrString          bool `json:"x-kubernetes-int-or-string"`
}

// TestHoldCRDMatchesKind checks that the CRD for Kubernetes clusters matches the kind that Berth's
// API server serves.
func TestHoldCRDMatchesKind(t *testing.T) {
	data, err := os.ReadFile("../../deploy/hold-crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c crd
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	row, found := kinds.Find(kinds.All(), v1alpha1.GroupVersion.WithResource(v1alpha1.HoldsResource).GroupResource())
	if !found {
		t.Fatal("no kind serves holds")
	}
	n, v := c.Spec.Names, c.Spec.Versions[0]
	if c.Metadata.Name != row.GroupResource().String() || c.Spec.Group != row.GroupVersion.Group || v.Name != row.GroupVersion.Version ||
		n.Kind != row.Kind || n.ListKind != row.Kind+"List" || n.Plural != row.Resource || n.Singular != strings.ToLower(row.Kind) ||
		(c.Spec.Scope == "Namespaced") != row.Namespaced {
		t.Errorf("got CRD %+v, want the names of %+v", c.Spec, row.GroupVersionKind())
	}
	var fields []string
	for _, f := range v.SelectableFields {
		fields = append(fields, strings.TrimPrefix(f.JSONPath, "."))
	}
	if want := slices.Sorted(maps.Keys(row.Fields(row.New()))); !slices.Equal(fields, want) {
		t.Errorf("got selectable fields %v, want %v", fields, want)
	}
	var columns []string
	for _, f := range v.AdditionalPrinterColumns {
		columns = append(columns, f.Name)
	}
	var want []string
	for _, f := range row.Columns[1:] {
		want = append(want, f.Name)
	}
	if !slices.Equal(columns, want) {
		t.Errorf("got columns %v, want %v", columns, want)
	}
	definitions := openapi.GetOpenAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef("#/" + path) })
	checkSchema(t, "", v.Schema.OpenAPIV3Schema, definitions[v1alpha1.Hold{}.OpenAPIModelName()].Schema, definitions)
}

// checkSchema compares the types, required fields and properties.
func checkSchema(t *testing.T, path string, got schema, want spec.Schema, definitions map[string]common.OpenAPIDefinition) {
	if ref := want.Ref.String(); ref != "" {
		name := strings.TrimPrefix(ref, "#/")
		want = definitions[name].Schema
		if strings.HasSuffix(name, "ObjectMeta") {
			return // both use the library's type
		}
	}
	if len(want.AllOf) == 1 {
		checkSchema(t, path, got, want.AllOf[0], definitions)
		return
	}
	if got.IntOrString {
		return // a quantity
	}
	if len(want.Type) > 0 && got.Type != want.Type[0] || got.Format != want.Format {
		t.Errorf("%s: got type %s %s, want %v %s", path, got.Type, got.Format, want.Type, want.Format)
	}
	if a, b := slices.Sorted(slices.Values(got.Required)), slices.Sorted(slices.Values(want.Required)); !slices.Equal(a, b) {
		t.Errorf("%s: got required fields %v, want %v", path, a, b)
	}
	if a, b := slices.Sorted(maps.Keys(got.Properties)), slices.Sorted(maps.Keys(want.Properties)); !slices.Equal(a, b) {
		t.Errorf("%s: got properties %v, want %v", path, a, b)
		return
	}
	for name, p := range got.Properties {
		checkSchema(t, path+"."+name, p, want.Properties[name], definitions)
	}
	if got.Items != nil && want.Items != nil {
		checkSchema(t, path+"[]", *got.Items, *want.Items.Schema, definitions)
	}
	if got.AdditionalProperties != nil && want.AdditionalProperties != nil {
		checkSchema(t, path+"{}", *got.AdditionalProperties, *want.AdditionalProperties.Schema, definitions)
	}
}
