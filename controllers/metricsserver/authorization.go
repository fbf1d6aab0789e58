package metricsserver

import (
	"context"
	"crypto/tls"
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

// maxReviews is how many callers are looked up at once; more wait, so that a
// flood of strangers costs the API server little.
const maxReviews = 4

// selfSignedTLSConfig is one made for this process, as the stock components make one when they
// are given none: whoever scrapes it trusts the token check, not the name.
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

// requireAuthorization lets through whom the API server knows by a bearer token and allows to
// get the path, as the stock components do.
func requireAuthorization(client kubernetes.Interface, next http.Handler) http.Handler {
	slots := make(chan struct{}, maxReviews)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || token == "" {
			http.Error(w, "a bearer token is needed, e.g. of `kubectl create token`", http.StatusUnauthorized)
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

// review asks the API server who has the token and whether they may get path.
func review(ctx context.Context, client kubernetes.Interface, token, path string) (int, error) {
	tokenReview, err := client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return http.StatusServiceUnavailable, fmt.Errorf("the API server could not check the token: %w", err)
	}
	if !tokenReview.Status.Authenticated {
		return http.StatusUnauthorized, fmt.Errorf("the token is not valid")
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
		return http.StatusServiceUnavailable, fmt.Errorf("the API server could not check the rights of %s: %w", user.Username, err)
	}
	if !accessReview.Status.Allowed {
		return http.StatusForbidden, fmt.Errorf("user %q may not get path %q: bind it to a role with that nonResourceURL, such as system:monitoring", user.Username, path)
	}
	return http.StatusOK, nil
}
