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
)

// remainingContent is what one pass could not remove from a namespace.
type remainingContent struct {
	discovery  []error
	parsing    []error
	deletion   []error
	remaining  map[schema.GroupVersionResource]int
	finalizers map[string]int // finalizer to number of objects
}

// err joins all errors. Remaining objects are not an error.
func (c *remainingContent) err() error {
	return errors.Join(slices.Concat(c.discovery, c.parsing, c.deletion)...)
}

// deletable is a namespaced resource.
type deletable struct {
	schema.GroupVersionResource
	collection bool // supports deletecollection
}

var podsResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// deleteAllContent deletes everything in the namespace, pods first.
func (e *controller) deleteAllContent(ctx context.Context, namespace string) *remainingContent {
	c := &remainingContent{remaining: map[schema.GroupVersionResource]int{}, finalizers: map[string]int{}}
	resources := e.resources(c)
	pods := slices.IndexFunc(resources, func(d deletable) bool { return d.GroupVersionResource == podsResource })
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
func (e *controller) resources(c *remainingContent) []deletable {
	lists, err := e.discover()
	if err != nil {
		c.discovery = append(c.discovery, err)
	}
	var out []deletable
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
			out = append(out, deletable{gv.WithResource(r.Name), slices.Contains(r.Verbs, "deletecollection")})
		}
	}
	return out
}

// deleteResource deletes all objects of one resource and counts the remaining ones.
func (e *controller) deleteResource(ctx context.Context, namespace string, d deletable, c *remainingContent) {
	client := e.metadata.Resource(d.GroupVersionResource).Namespace(namespace)
	// Most resources have no objects in most namespaces: list before deleting.
	left, err := listMetadata(ctx, client)
	if err == nil && slices.ContainsFunc(left, isNotDeleting) {
		if err = e.deleteObjects(ctx, client, d, left); err == nil {
			left, err = listMetadata(ctx, client)
		}
	}
	if err != nil {
		c.deletion = append(c.deletion, fmt.Errorf("%s: %w", d.GroupResource(), err))
		return
	}
	if len(left) == 0 {
		return
	}
	c.remaining[d.GroupVersionResource] += len(left)
	for i := range left {
		for _, f := range left[i].Finalizers {
			c.finalizers[f]++
		}
	}
}

// isNotDeleting reports whether an object is not being deleted yet.
func isNotDeleting(o metav1.PartialObjectMetadata) bool { return o.DeletionTimestamp.IsZero() }

// listMetadata returns all objects. A resource that is not served any more has none.
func listMetadata(ctx context.Context, client metadata.ResourceInterface) ([]metav1.PartialObjectMetadata, error) {
	found, err := client.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return found.Items, nil
}

func (e *controller) deleteObjects(ctx context.Context, client metadata.ResourceInterface, d deletable, objects []metav1.PartialObjectMetadata) error {
	background := metav1.DeletePropagationBackground
	opts := metav1.DeleteOptions{PropagationPolicy: &background}
	if d.collection {
		err := client.DeleteCollection(ctx, opts, metav1.ListOptions{})
		if !apierrors.IsMethodNotSupported(err) {
			return ignoreNotFound(err)
		}
	}
	var errs []error
	for i := range objects {
		if err := ignoreNotFound(client.Delete(ctx, objects[i].Name, opts)); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
