package renewal

import (
	"context"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

const (
	// reviewRetryInterval is the time between two reviews if the API server does not answer.
	reviewRetryInterval = 10 * time.Second
	// reviewInterval is the time between two reviews if the API server denies the permission or forbids the review.
	reviewInterval = time.Hour
)

// awaitPermission blocks until the user of a component may create CertificateSigningRequests. It returns false if ctx ends
// first. A cluster that Berth did not set up may not grant the permission, and would then reject each request.
// awaitPermission logs once that the permission is missing.
func awaitPermission(ctx context.Context, client kubernetes.Interface, component string) bool {
	logged := false
	for {
		review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: "create", Group: certificatesv1.GroupName, Resource: "certificatesigningrequests"}}}, metav1.CreateOptions{})
		wait := reviewRetryInterval
		switch {
		case err != nil && !apierrors.IsForbidden(err):
		case err == nil && review.Status.Allowed:
			return true
		default:
			wait = reviewInterval
			if !logged {
				klog.InfoS("The client certificate is not renewed, because its user may not create CertificateSigningRequests; grant it, or replace the kubeconfig before the certificate expires", "component", component)
				logged = true
			}
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}
