package openapi

import (
	"maps"

	apiextensionsopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	aggregatoropenapi "k8s.io/kube-aggregator/pkg/generated/openapi"
	"k8s.io/kube-openapi/pkg/common"
)

// Definitions returns the definitions of all types of the process: those of this package, of
// CustomResourceDefinition and of APIService.
func Definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	all := apiextensionsopenapi.GetOpenAPIDefinitions(ref)
	maps.Copy(all, aggregatoropenapi.GetOpenAPIDefinitions(ref))
	maps.Copy(all, GetOpenAPIDefinitions(ref))
	return all
}
