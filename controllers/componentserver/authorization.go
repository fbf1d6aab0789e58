package componentserver

import (
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	// reviewTimeout bounds one review by the API server.
	reviewTimeout = 10 * time.Second
	// reviewCacheTTL is how long reviews are cached, as in Kubernetes components.
	reviewCacheTTL = 10 * time.Second

	clientCAConfigMap = "extension-apiserver-authentication"
	clientCAKey       = "client-ca-file"
)

// reviewBackoff is the retry policy of reviews.
func reviewBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 3}
}

// newClientCA returns the client CA that the API server publishes. It verifies no client certificate before it has read
// the CA.
func newClientCA(client kubernetes.Interface) (*dynamiccertificates.ConfigMapCAController, error) {
	return dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", metav1.NamespaceSystem, clientCAConfigMap, clientCAKey, client)
}

// newAuthenticator authenticates by client certificate, unless ca is nil, and by bearer token.
func newAuthenticator(client kubernetes.Interface, ca dynamiccertificates.CAContentProvider) (authenticator.Request, error) {
	authn, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient: client.AuthenticationV1(), TokenAccessReviewTimeout: reviewTimeout, CacheTTL: reviewCacheTTL,
		WebhookRetryBackoff: reviewBackoff(), ClientCertificateCAContentProvider: ca,
	}.New()
	return authn, err
}

// newAuthorizer delegates to the API server, except for members of system:masters, which are authorized for everything.
func newAuthorizer(client kubernetes.Interface) (authorizer.Authorizer, error) {
	delegated, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(), AllowCacheTTL: reviewCacheTTL, DenyCacheTTL: reviewCacheTTL,
		WebhookRetryBackoff: reviewBackoff(),
	}.New()
	if err != nil {
		return nil, err
	}
	return union.New(union.NamedAuthorizer{AuthorizerName: "privileged-groups", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		union.NamedAuthorizer{AuthorizerName: "delegated", Authorizer: delegated})
}

// requireAuthorization wraps a handler with authentication and authorization for its paths.
func requireAuthorization(next http.Handler, authn authenticator.Request, authz authorizer.Authorizer) http.Handler {
	next = filters.WithAuthorization(next, authz, scheme.Codecs)
	next = filters.WithAuthentication(next, authn, filters.Unauthorized(scheme.Codecs), nil, nil)
	return filters.WithRequestInfo(next, &request.RequestInfoFactory{})
}
