package installtest

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

// TestBaseIsAccepted checks that the API server accepts each object of the base.
func TestBaseIsAccepted(t *testing.T) {
	c := start(t)
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.client.Discovery()))
	objects := kustomize(t, "..")
	if len(objects) < 30 {
		t.Fatalf("the base has %d objects, want at least 30", len(objects))
	}
	for _, o := range objects {
		kind := o.GroupVersionKind()
		if o.GetKind() == "CustomResourceDefinition" {
			continue // Berth's API server serves Holds itself
		}
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			t.Errorf("finding the resource of %s %s: %v", o.GetKind(), o.GetName(), err)
			continue
		}
		_, err = client.Resource(mapping.Resource).Namespace(o.GetNamespace()).Create(t.Context(), o,
			metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil {
			t.Errorf("creating %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}
