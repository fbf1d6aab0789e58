package store

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// UnstructuredOptions returns the storage options of custom resources. They are stored as JSON
// below GROUP/RESOURCE, as in kube-apiserver.
type UnstructuredOptions struct{ Options }

// GetRESTOptions implements generic.RESTOptionsGetter. It does not use the example object.
func (o UnstructuredOptions) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	cfg := storagebackend.NewDefaultConfig(prefix, unstructured.UnstructuredJSONScheme)
	return o.restOptions(cfg, resource, resource.Group+"/"+resource.Resource), nil
}
