package kubeclient

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/berthproject/berth/sim/store"
)

// metadataClient implements metadata.Interface.
type metadataClient struct{ c *client }

// Resource implements metadata.Interface. The group is ignored: the store serves each resource in one group.
func (m metadataClient) Resource(r schema.GroupVersionResource) metadata.Getter {
	return metadataResource{endpoint: endpoint{c: m.c, kind: store.Kind(r.Resource)}}
}

type otherMetadataMethods struct{ metadata.ResourceInterface }

// metadataResource implements metadata.Getter.
type metadataResource struct {
	otherMetadataMethods
	endpoint
}

// Namespace implements metadata.Getter.
func (m metadataResource) Namespace(namespace string) metadata.ResourceInterface {
	m.namespace = namespace
	return m
}

// toMetadata returns the metadata of an object.
func toMetadata(o store.Object, err error) (*metav1.PartialObjectMetadata, error) {
	if err != nil {
		return nil, err
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metadataOf(o)}, nil
}

// Get implements metadata.ResourceInterface.
func (m metadataResource) Get(ctx context.Context, name string, _ metav1.GetOptions, _ ...string) (*metav1.PartialObjectMetadata, error) {
	return toMetadata(m.get(ctx, name))
}

// List implements metadata.ResourceInterface.
func (m metadataResource) List(ctx context.Context, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	objects, err := m.list(ctx, o)
	out := &metav1.PartialObjectMetadataList{}
	for _, object := range objects {
		out.Items = append(out.Items, metav1.PartialObjectMetadata{ObjectMeta: metadataOf(object)})
	}
	return out, err
}

// Patch implements metadata.ResourceInterface.
func (m metadataResource) Patch(ctx context.Context, name string, t types.PatchType, data []byte, _ metav1.PatchOptions, subresources ...string) (*metav1.PartialObjectMetadata, error) {
	return toMetadata(m.patch(ctx, name, t, data, subresources))
}

// Delete implements metadata.ResourceInterface.
func (m metadataResource) Delete(ctx context.Context, name string, o metav1.DeleteOptions, _ ...string) error {
	return m.delete(ctx, name, o)
}
