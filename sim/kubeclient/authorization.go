package kubeclient

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedauthorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// authorizationV1 allows all requests.
type authorizationV1 struct {
	typedauthorizationv1.AuthorizationV1Interface
}

type accessReviews struct {
	typedauthorizationv1.SelfSubjectAccessReviewInterface
}

// AuthorizationV1 implements kubernetes.Interface.
func (s clientset) AuthorizationV1() typedauthorizationv1.AuthorizationV1Interface {
	return authorizationV1{}
}

// SelfSubjectAccessReviews implements typedauthorizationv1.AuthorizationV1Interface.
func (authorizationV1) SelfSubjectAccessReviews() typedauthorizationv1.SelfSubjectAccessReviewInterface {
	return accessReviews{}
}

// Create implements typedauthorizationv1.SelfSubjectAccessReviewInterface.
func (accessReviews) Create(_ context.Context, r *authorizationv1.SelfSubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SelfSubjectAccessReview, error) {
	allowed := r.DeepCopy()
	allowed.Status.Allowed = true
	return allowed, nil
}
