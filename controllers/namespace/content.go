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
func (e *controller) deleteAllContent(ctx context.Context, namespace string) *remainingContent {
	c := &remainingContent{remaining: map[schema.GroupVersionResource]int{}, finalizers: map[string]int{}}
	resources := e.resources(c)
	pods := slices.IndexFunc(resources, func(d deletableResource) bool { return d.GroupVersionResource == podsResource })
	if pods >= 0 {
		e.deleteResource(ctx, namespace, resources[pods], c)
		if len(c.remaining) > 0 || len(c.deletion) > 0 {
			return c
		}
		resources = slices.Delete(resources, pods, pods+1)
	}
	for _, d := range resources {
		e.deleteResource(ctx, namespace, d, c)
	}
	return c
}

// resources returns the deletable namespaced resources. Errors are recorded in c.
func (e *controller) resources(c *remainingContent) []deletableResource {
	lists, err := e.discover()
	if err != nil {
		c.discovery = append(c.discovery, err)
	}
	var out []deletableResource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			c.parsing = append(c.parsing, err)
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
func (e *controller) deleteResource(ctx context.Context, namespace string, d deletableResource, c *remainingContent) {
	client := e.metadata.Resource(d.GroupVersionResource).Namespace(namespace)
	// Most resources have no objects in most namespaces: list before deleting.
	remaining, err := listMetadata(ctx, client)
	if err == nil && slices.ContainsFunc(remaining, isNotDeleting) {
		if err = e.deleteObjects(ctx, client, d, remaining); err == nil {
			remaining, err = listMetadata(ctx, client)
		}
	}
	if err != nil {
		c.deletion = append(c.deletion, fmt.Errorf("%s: %w", d.GroupResource(), err))
		return
	}
	if len(remaining) == 0 {
		return
	}
	c.remaining[d.GroupVersionResource] += len(remaining)
	for i := range remaining {
		for _, f := range remaining[i].Finalizers {
			c.finalizers[f]++
		}
	}
}

// isNotDeleting reports whether an object is not being deleted yet.
func isNotDeleting(o metav1.PartialObjectMetadata) bool { return o.DeletionTimestamp.IsZero() }

// listMetadata returns all objects. A resource that is not served any more has none.
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

func (e *controller) deleteObjects(ctx context.Context, client metadata.ResourceInterface, d deletableResource, objects []metav1.PartialObjectMetadata) error {
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
