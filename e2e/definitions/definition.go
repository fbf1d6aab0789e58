package main

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/apiserver"
)

// groupSize is the number of kinds in a group.
const groupSize = 5

// These functions return names of the definition with the index i.
func group(i int) string          { return fmt.Sprintf("g%d.example.com", i/groupSize) }
func plural(i int) string         { return fmt.Sprintf("widgets%d", i) }
func definitionName(i int) string { return plural(i) + "." + group(i) }

// jsonConfig returns a client configuration for custom resources, which have no protobuf.
func jsonConfig(server *apiserver.Server) *rest.Config {
	config := server.LoopbackConfig()
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	return config
}

// newDefinition returns the definition with the index i. Its spec has size settings, in sections of ten.
func newDefinition(i, size int) *apiextensionsv1.CustomResourceDefinition {
	spec := object("Spec describes the desired state of the widget.")
	for remaining, n := size, 0; remaining > 0; n++ {
		section := object("A section of the specification that configures one aspect of the widget.")
		for m := 0; m < 10 && remaining > 0; m++ {
			section.Properties[fmt.Sprintf("setting%d", m)] = setting(remaining, remaining%7)
			remaining--
		}
		spec.Properties[fmt.Sprintf("section%d", n)] = section
	}
	preserve := true
	status := object("Status describes the observed state of the widget.")
	status.XPreserveUnknownFields = &preserve
	root := object("Widget is a generated custom resource.")
	root.Properties["spec"], root.Properties["status"] = spec, status
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: definitionName(i)},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group(i), Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural(i), Kind: fmt.Sprintf("Widget%d", i)},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

// object returns the schema of an object without properties.
func object(description string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "object", Description: description, Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
}

// setting returns the schema of setting n. kind selects the type: an integer, a list, a map, or a string
// with or without constraints.
func setting(n, kind int) apiextensionsv1.JSONSchemaProps {
	p := apiextensionsv1.JSONSchemaProps{Type: "string", Description: fmt.Sprintf("Setting %d. %s", n, strings.Repeat("It selects how the controller handles this part. ", 3))}
	length, text := int64(253), apiextensionsv1.JSONSchemaProps{Type: "string"}
	switch kind {
	case 0:
		p.Type, p.Format = "integer", "int32"
	case 1:
		p.MaxLength, p.Pattern = &length, `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	case 2:
		p.Type, p.Items = "array", &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text}
	case 3:
		p.Type, p.AdditionalProperties = "object", &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &text}
	case 4:
		p.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"Always"`)}, {Raw: []byte(`"Never"`)}}
	}
	return p
}
