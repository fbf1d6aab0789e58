package connect

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
)

// mayCreate refuses a request whose user lacks the verb create on what it is
// for. That it may be made at all, with its own verb, has been checked.
func mayCreate(ctx context.Context, rights authorizer.Authorizer) error {
	asked, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if asked.GetVerb() == "create" {
		return nil
	}
	resource := schema.GroupResource{Group: asked.GetAPIGroup(), Resource: asked.GetResource()}
	verdict, why, err := rights.Authorize(ctx, creating{asked})
	switch {
	case verdict == authorizer.DecisionAllow:
		return nil
	case err != nil:
		return apierrors.NewInternalError(err)
	case why == "":
		why = "user \"" + asked.GetUser().GetName() + "\" needs the verb \"create\" on \"" + asked.GetResource() + "/" + asked.GetSubresource() + "\" to open a stream"
	}
	return apierrors.NewForbidden(resource, asked.GetName(), errors.New(why))
}

// creating is a request with another verb.
type creating struct{ authorizer.Attributes }

func (creating) GetVerb() string { return "create" }
