package answers

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// decisionResources are the resources that a decision depends on, by group: those that informers.List requests, even
// if the API server does not serve them.
var decisionResources = map[string][]string{
	"":                {"nodes", "pods", "namespaces", "services", "replicationcontrollers", "persistentvolumes", "persistentvolumeclaims"},
	"apps":            {"replicasets", "statefulsets"},
	"policy":          {"poddisruptionbudgets"},
	"storage.k8s.io":  {"storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"},
	"resource.k8s.io": {"resourceclaims"},
	"berth.dev":       {"holds"},
}

// requireList returns a Forbidden error unless the user may list a resource in a namespace, or in all if it is empty.
func requireList(ctx context.Context, config *rest.Config, resource schema.GroupResource, namespace string) error {
	return requireAccess(ctx, config, authorizationv1.ResourceAttributes{Verb: "list", Group: resource.Group, Resource: resource.Resource, Namespace: namespace})
}

// requireAccess returns a Forbidden error unless the user has access.
func requireAccess(ctx context.Context, config *rest.Config, access authorizationv1.ResourceAttributes) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &access}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if review.Status.Allowed {
		return nil
	}
	scope := "in all namespaces"
	switch {
	case access.Name != "":
		scope = access.Name
	case access.Namespace != "":
		scope = "in namespace " + access.Namespace
	}
	resource := schema.GroupResource{Group: access.Group, Resource: access.Resource}
	name := resource.String()
	if access.Subresource != "" {
		name += "/" + access.Subresource
	}
	return apierrors.NewForbidden(resource, access.Name, fmt.Errorf("the current permissions apply to earlier times, and do not allow to %s %s %s", access.Verb, name, scope))
}

// requireDecisionResources returns a Forbidden error unless the user may list all that a decision depends on.
func requireDecisionResources(ctx context.Context, config *rest.Config) error {
	for group, resources := range decisionResources {
		for _, r := range resources {
			if err := requireList(ctx, config, schema.GroupResource{Group: group, Resource: r}, ""); err != nil {
				return err
			}
		}
	}
	return nil
}
