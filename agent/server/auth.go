package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

const (
	// reviewTimeout bounds requests to the API server.
	reviewTimeout = 10 * time.Second
	// Lifetimes of cached decisions. Denials are cached briefly.
	tokenCacheTTL, allowedCacheTTL, deniedCacheTTL = 2 * time.Minute, 5 * time.Minute, 5 * time.Second
	maxCachedReviews                               = 1000
)

// newAuthenticator returns an authenticator for client certificates and tokens.
func newAuthenticator(o Options) (authenticator.Request, error) {
	config := authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient: o.Client.AuthenticationV1(), TokenAccessReviewTimeout: reviewTimeout, CacheTTL: tokenCacheTTL,
		WebhookRetryBackoff: &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 3},
	}
	if len(o.ClientCA) > 0 {
		ca, err := dynamiccertificates.NewStaticCAContent("client-ca", o.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("agent/server: CA of client certificates: %w", err)
		}
		config.ClientCertificateCAContentProvider = ca
	}
	authn, _, err := config.New()
	return authn, err
}

// nodeAttributes are the attributes of an authorization check: a verb on a subresource of a
// node.
type nodeAttributes struct{ verb, subresource, node string }

// requiredAttributes returns the attributes of a request. A client must be authorized for one of them.
func requiredAttributes(r *http.Request, path string, n *Node) []nodeAttributes {
	verb := map[string]string{http.MethodGet: "get", http.MethodHead: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[r.Method]
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	proxy := nodeAttributes{verb, "proxy", n.Name}
	switch first {
	case "stats", "metrics":
		return []nodeAttributes{{verb, first, n.Name}}
	case "containerLogs", "exec", "attach", "portForward":
		if first != "containerLogs" {
			proxy.verb = "create"
		}
		return []nodeAttributes{proxy}
	case "pods", "healthz":
		return []nodeAttributes{{verb, first, n.Name}, proxy}
	}
	return []nodeAttributes{proxy}
}

// authorizer caches SubjectAccessReviews of the API server.
type authorizer struct {
	client kubernetes.Interface
	cache  *cache.LRUExpireCache
}

func newAuthorizer(client kubernetes.Interface) *authorizer {
	return &authorizer{client: client, cache: cache.NewLRUExpireCache(maxCachedReviews)}
}

func (a *authorizer) authorizeAny(ctx context.Context, requester user.Info, attrs []nodeAttributes) (bool, error) {
	for _, attr := range attrs {
		if allowed, err := a.authorize(ctx, requester, attr); allowed || err != nil {
			return allowed, err
		}
	}
	return false, nil
}

func (a *authorizer) authorize(ctx context.Context, requester user.Info, attr nodeAttributes) (bool, error) {
	key := fmt.Sprintf("%q %q %q %q %v", requester.GetName(), requester.GetUID(), requester.GetGroups(), requester.GetExtra(), attr)
	if allowed, ok := a.cache.Get(key); ok {
		return allowed.(bool), nil
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	extra := map[string]authorizationv1.ExtraValue{}
	for k, values := range requester.GetExtra() {
		extra[k] = values
	}
	review, err := a.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: requester.GetName(), UID: requester.GetUID(), Groups: requester.GetGroups(), Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: attr.verb, Version: "v1", Resource: "nodes", Subresource: attr.subresource, Name: attr.node},
		}}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	ttl := deniedCacheTTL
	if review.Status.Allowed {
		ttl = allowedCacheTTL
	}
	a.cache.Add(key, review.Status.Allowed, ttl)
	return review.Status.Allowed, nil
}
