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
type Client interface {
	// Holds returns a client for the Holds of a namespace. For "" it lists and watches all namespaces.
	Holds(namespace string) HoldInterface
}

// HoldInterface reads and writes the Holds of one namespace, or lists and watches those of all.
//
// +k8s:openapi-gen=false
type HoldInterface interface {
	List(ctx context.Context, o metav1.ListOptions) (*HoldList, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
	Get(ctx context.Context, name string, o metav1.GetOptions) (*Hold, error)
	Create(ctx context.Context, h *Hold, o metav1.CreateOptions) (*Hold, error)
	Update(ctx context.Context, h *Hold, o metav1.UpdateOptions) (*Hold, error)
	Delete(ctx context.Context, name string, o metav1.DeleteOptions) error
}

// restClient implements Client.
type restClient struct {
	rest      rest.Interface
	parameter runtime.ParameterCodec
}

// NewClient returns a client for Holds. It sends no request; use discovery to find out whether
// Holds are served.
func NewClient(config *rest.Config) (Client, error) {
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
	return &restClient{rest: r, parameter: runtime.NewParameterCodec(scheme)}, nil
}

// namespacedClient implements HoldInterface.
type namespacedClient struct {
	*restClient
	namespace string
}

// Holds implements Client.
func (c *restClient) Holds(namespace string) HoldInterface { return &namespacedClient{c, namespace} }

// List implements HoldInterface.
func (c *namespacedClient) List(ctx context.Context, o metav1.ListOptions) (*HoldList, error) {
	out := &HoldList{}
	return out, c.rest.Get().NamespaceIfScoped(c.namespace, c.namespace != "").Resource(HoldsResource).VersionedParams(&o, c.parameter).Do(ctx).Into(out)
}

// Watch implements HoldInterface.
func (c *namespacedClient) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return c.rest.Get().NamespaceIfScoped(c.namespace, c.namespace != "").Resource(HoldsResource).VersionedParams(&o, c.parameter).Watch(ctx)
}

// Get implements HoldInterface.
func (c *namespacedClient) Get(ctx context.Context, name string, o metav1.GetOptions) (*Hold, error) {
	out := &Hold{}
	return out, c.rest.Get().Namespace(c.namespace).Resource(HoldsResource).Name(name).VersionedParams(&o, c.parameter).Do(ctx).Into(out)
}

// Create implements HoldInterface.
func (c *namespacedClient) Create(ctx context.Context, h *Hold, o metav1.CreateOptions) (*Hold, error) {
	out := &Hold{}
	return out, c.rest.Post().Namespace(c.namespace).Resource(HoldsResource).VersionedParams(&o, c.parameter).Body(h).Do(ctx).Into(out)
}

// Update implements HoldInterface.
func (c *namespacedClient) Update(ctx context.Context, h *Hold, o metav1.UpdateOptions) (*Hold, error) {
	out := &Hold{}
	return out, c.rest.Put().Namespace(c.namespace).Resource(HoldsResource).Name(h.Name).VersionedParams(&o, c.parameter).Body(h).Do(ctx).Into(out)
}

// Delete implements HoldInterface.
func (c *namespacedClient) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	return c.rest.Delete().Namespace(c.namespace).Resource(HoldsResource).Name(name).Body(&o).Do(ctx).Error()
}
