package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

// reviewTimeout bounds the permission checks before a component starts.
const reviewTimeout = 10 * time.Second

// RequirePermission returns an error, which ends with advice, if the credential lacks a permission that the component
// needs. Without this check the component would start and log each rejected request. RequirePermission returns nil if
// the access review fails, since the API server may not respond yet.
func RequirePermission(ctx context.Context, config *rest.Config, attributes authorizationv1.ResourceAttributes, advice string) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}, metav1.CreateOptions{})
	if err != nil || review.Status.Allowed {
		return nil
	}
	resource := strings.TrimRight(attributes.Resource+"/"+attributes.Subresource, "/")
	if attributes.Name != "" {
		resource += " " + attributes.Name
	}
	return fmt.Errorf("user %q is not allowed to %s %s at %s: %s", currentUser(ctx, client), attributes.Verb, resource, config.Host, advice)
}

// currentUser returns the user name of the credential, or "" if the server does not return it.
func currentUser(ctx context.Context, client kubernetes.Interface) string {
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	return review.Status.UserInfo.Username
}

// CredentialNode returns the node that a credential belongs to, or "". It queries the server
// only if the credential is not a node's certificate, because an agent may start before
// the server.
func CredentialNode(ctx context.Context, config *rest.Config) string {
	if name := certificateNode(config); name != "" {
		return name
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return ""
	}
	name, ok := strings.CutPrefix(currentUser(ctx, client), nodeUserPrefix)
	if !ok {
		return ""
	}
	return name
}

// certificateNode returns the node that the client certificate of config belongs to, or "".
func certificateNode(config *rest.Config) string {
	loaded := rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(loaded); err != nil {
		return "" // reported when the client connects
	}
	chain, err := cert.ParseCertsPEM(loaded.CertData)
	if err != nil {
		return ""
	}
	name, ok := strings.CutPrefix(chain[0].Subject.CommonName, nodeUserPrefix)
	if !ok {
		return ""
	}
	return name
}

const nodeUserPrefix = "system:node:"

// AddHint adds a hint to the error of a refused connection. It returns other errors unchanged.
func AddHint(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: check that the server at this address runs; `berth up` starts a cluster", err)
	}
	return err
}
