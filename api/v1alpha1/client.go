package v1alpha1

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// AddToScheme registers the kinds in a scheme.
func AddToScheme(s *runtime.Scheme) {
	s.AddKnownTypes(GroupVersion, &Hold{}, &HoldList{})
	metav1.AddToGroupVersion(s, GroupVersion)
}

// Client reads and writes Holds.
//
// +k8s:openapi-gen=false
type Client struct {
	rest      rest.Interface
	parameter runtime.ParameterCodec
}

// NewClient returns a client for Holds. It sends no request; use discovery to find out whether
// Holds are served.
func NewClient(config *rest.Config) (*Client, error) {
	scheme := runtime.NewScheme()
	AddToScheme(scheme)
	c := rest.CopyConfig(config)
	c.GroupVersion, c.APIPath = &GroupVersion, "/apis"
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON // custom resources have no protobuf encoding
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	r, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", GroupVersion, err)
	}
	return &Client{rest: r, parameter: runtime.NewParameterCodec(scheme)}, nil
}

// NamespacedClient reads and writes the Holds of one namespace, or of all.
//
// +k8s:openapi-gen=false
type NamespacedClient struct {
	*Client
	namespace string
}

// Holds returns a client for the Holds of a namespace. For "" it lists and watches all namespaces.
func (c *Client) Holds(namespace string) *NamespacedClient {
	return &NamespacedClient{c, namespace}
}

// List lists Holds.
func (c *NamespacedClient) List(ctx context.Context, o metav1.ListOptions) (*HoldList, error) {
	out := &HoldList{}
	return out, c.rest.Get().NamespaceIfScoped(c.namespace, c.namespace != "").Resource(HoldsResource).VersionedParams(&o, c.parameter).Do(ctx).Into(out)
}

// Watch watches Holds.
func (c *NamespacedClient) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return c.rest.Get().NamespaceIfScoped(c.namespace, c.namespace != "").Resource(HoldsResource).VersionedParams(&o, c.parameter).Watch(ctx)
}

// Get returns a Hold.
func (c *NamespacedClient) Get(ctx context.Context, name string, o metav1.GetOptions) (*Hold, error) {
	out := &Hold{}
	return out, c.rest.Get().Namespace(c.namespace).Resource(HoldsResource).Name(name).VersionedParams(&o, c.parameter).Do(ctx).Into(out)
}

// Create creates a Hold.
func (c *NamespacedClient) Create(ctx context.Context, h *Hold, o metav1.CreateOptions) (*Hold, error) {
	out := &Hold{}
	return out, c.rest.Post().Namespace(c.namespace).Resource(HoldsResource).VersionedParams(&o, c.parameter).Body(h).Do(ctx).Into(out)
}

// Update replaces a Hold.
func (c *NamespacedClient) Update(ctx context.Context, h *Hold, o metav1.UpdateOptions) (*Hold, error) {
	out := &Hold{}
	return out, c.rest.Put().Namespace(c.namespace).Resource(HoldsResource).Name(h.Name).VersionedParams(&o, c.parameter).Body(h).Do(ctx).Into(out)
}

// Delete deletes a Hold.
func (c *NamespacedClient) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	return c.rest.Delete().Namespace(c.namespace).Resource(HoldsResource).Name(name).Body(&o).Do(ctx).Error()
}
