package openapi_test

import (
	"reflect"
	"testing"

	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/berthproject/berth/apiserver/kinds"
	"github.com/berthproject/berth/apiserver/openapi"
)

func TestEveryKindHasDefinition(t *testing.T) {
	definitions := openapi.GetOpenAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef("#/definitions/" + path) })
	check := func(obj any) {
		name := util.GetCanonicalTypeName(obj)
		if namer, ok := obj.(interface{ OpenAPIModelName() string }); ok {
			name = namer.OpenAPIModelName()
		}
		if _, ok := definitions[name]; !ok {
			t.Errorf("%s (%s) has no definition: add its package to the go:generate line in doc.go", name, reflect.TypeOf(obj))
		}
	}
	for _, k := range kinds.All() {
		check(k.New())
		if k.NewList != nil {
			check(k.NewList())
		}
	}
}

// TestDefinitionReferencesExist checks that no definition refers to a missing one. Otherwise the server does not start.
func TestDefinitionReferencesExist(t *testing.T) {
	var missing []string
	definitions := openapi.GetOpenAPIDefinitions(spec.MustCreateRef)
	for name, definition := range definitions {
		for _, dependency := range definition.Dependencies {
			if _, ok := definitions[dependency]; !ok {
				missing = append(missing, name+" needs "+dependency)
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("%d definitions are missing: %v", len(missing), missing)
	}
}
