package metricsserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"
)

// maxReviews bounds concurrent token reviews, so that
// unauthenticated requests cost the API server little.
const maxReviews = 4

// selfSignedTLSConfig creates a certificate for this process, as Kubernetes components do without a configured one:
// clients authenticate by token and do not verify the name.
func selfSignedTLSConfig(listen string) (*tls.Config, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = "localhost"
	}
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"})
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, err
}

// requireAuthorization requires a bearer token of a user who may get the path, as Kubernetes components do.
func requireAuthorization(client kubernetes.Interface, next http.Handler) http.Handler {
	slots := make(chan struct{}, maxReviews)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || token == "" {
			http.Error(w, "missing bearer token; create one with `kubectl create token`", http.StatusUnauthorized)
			return
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-r.Context().Done():
			return
		}
		if code, err := review(r.Context(), client, token, r.URL.Path); err != nil {
			http.Error(w, err.Error(), code)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// review authenticates the token and authorizes the user for the path, both through the API server.
func review(ctx context.Context, client kubernetes.Interface, token, path string) (int, error) {
	tokenReview, err := client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return http.StatusServiceUnavailable, fmt.Errorf("reviewing the token: %w", err)
	}
	if !tokenReview.Status.Authenticated {
		return http.StatusUnauthorized, errors.New("invalid token")
	}
	user := tokenReview.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range user.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	accessReview, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user.Username, Groups: user.Groups, UID: user.UID, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"}},
	}, metav1.CreateOptions{})
	if err != nil {
		return http.StatusServiceUnavailable, fmt.Errorf("reviewing the access of user %q: %w", user.Username, err)
	}
	if !accessReview.Status.Allowed {
		return http.StatusForbidden, fmt.Errorf("user %q may not get path %q: bind it to a role with that nonResourceURL, such as system:monitoring", user.Username, path)
	}
	return http.StatusOK, nil
}
