package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/berthproject/berth/internal/apierror"
)

// remainingContent is the content that one pass could not delete from a namespace, and the errors of the pass.
type remainingContent struct {
	discovery  []error
	parsing    []error // of group versions
	deletion   []error
	remaining  map[schema.GroupVersionResource]int // number of objects
	finalizers map[string]int                      // finalizer to number of objects
}

// err joins all errors. Remaining objects are not an error.
func (c *remainingContent) err() error {
	return errors.Join(slices.Concat(c.discovery, c.parsing, c.deletion)...)
}

// deletableResource is a namespaced resource.
type deletableResource struct {
	schema.GroupVersionResource
	collection bool // supports deletecollection
}

var podsResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// deleteAllContent deletes everything in the namespace, pods first.
func (c *controller) deleteAllContent(ctx context.Context, namespace string) *remainingContent {
	content := &remainingContent{remaining: map[schema.GroupVersionResource]int{}, finalizers: map[string]int{}}
	resources := c.resources(content)
	pods := slices.IndexFunc(resources, func(d deletableResource) bool { return d.GroupVersionResource == podsResource })
	if pods >= 0 {
		c.deleteResource(ctx, namespace, resources[pods], content)
		if len(content.remaining) > 0 || len(content.deletion) > 0 {
			return content
		}
		resources = slices.Delete(resources, pods, pods+1)
	}
	for _, d := range resources {
		c.deleteResource(ctx, namespace, d, content)
	}
	return content
}

// resources returns the deletable namespaced resources. Errors are recorded in content.
func (c *controller) resources(content *remainingContent) []deletableResource {
	lists, err := c.discover()
	if err != nil {
		content.discovery = append(content.discovery, err)
	}
	var out []deletableResource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			content.parsing = append(content.parsing, err)
			continue
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if !r.Namespaced || strings.Contains(r.Name, "/") ||
				!slices.Contains(r.Verbs, "delete") || !slices.Contains(r.Verbs, "list") {
				continue
			}
			out = append(out, deletableResource{gv.WithResource(r.Name), slices.Contains(r.Verbs, "deletecollection")})
		}
	}
	return out
}

// deleteResource deletes all objects of one resource and counts the remaining ones.
func (c *controller) deleteResource(ctx context.Context, namespace string, d deletableResource, content *remainingContent) {
	client := c.metadata.Resource(d.GroupVersionResource).Namespace(namespace)
	// Most resources have no objects in most namespaces: list before deleting.
	remaining, err := listMetadata(ctx, client)
	if err == nil && slices.ContainsFunc(remaining, isNotDeleting) {
		if err = c.deleteObjects(ctx, client, d, remaining); err == nil {
			remaining, err = listMetadata(ctx, client)
		}
	}
	if err != nil {
		content.deletion = append(content.deletion, fmt.Errorf("%s: %w", d.GroupResource(), err))
		return
	}
	if len(remaining) == 0 {
		return
	}
	content.remaining[d.GroupVersionResource] += len(remaining)
	for i := range remaining {
		for _, f := range remaining[i].Finalizers {
			content.finalizers[f]++
		}
	}
}

// isNotDeleting reports whether an object is not being deleted yet.
func isNotDeleting(o metav1.PartialObjectMetadata) bool { return o.DeletionTimestamp.IsZero() }

// listMetadata returns all objects. A resource that is no longer served has none.
func listMetadata(ctx context.Context, client metadata.ResourceInterface) ([]metav1.PartialObjectMetadata, error) {
	list, err := client.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (c *controller) deleteObjects(ctx context.Context, client metadata.ResourceInterface, d deletableResource, objects []metav1.PartialObjectMetadata) error {
	background := metav1.DeletePropagationBackground
	opts := metav1.DeleteOptions{PropagationPolicy: &background}
	if d.collection {
		err := client.DeleteCollection(ctx, opts, metav1.ListOptions{})
		if !apierrors.IsMethodNotSupported(err) {
			return apierror.IgnoreNotFound(err)
		}
	}
	var errs []error
	for i := range objects {
		if err := apierror.IgnoreNotFound(client.Delete(ctx, objects[i].Name, opts)); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
