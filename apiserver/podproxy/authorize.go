package podproxy

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
)

// authorizeCreate returns an error if the user may not use the verb create on the subresource. The
// request's own verb is already authorized.
func authorizeCreate(ctx context.Context, authz authorizer.Authorizer) error {
	attrs, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if attrs.GetVerb() == "create" {
		return nil
	}
	resource := schema.GroupResource{Group: attrs.GetAPIGroup(), Resource: attrs.GetResource()}
	decision, reason, err := authz.Authorize(ctx, createAttributes{attrs})
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil:
		return apierrors.NewInternalError(err)
	case reason == "":
		reason = fmt.Sprintf(`user %q needs the verb "create" on "%s/%s" to open a stream`, attrs.GetUser().GetName(), attrs.GetResource(), attrs.GetSubresource())
	}
	return apierrors.NewForbidden(resource, attrs.GetName(), errors.New(reason))
}

// createAttributes are attributes with the verb create.
type createAttributes struct{ authorizer.Attributes }

func (createAttributes) GetVerb() string { return "create" }
