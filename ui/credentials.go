package ui

import (
	"errors"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// handler serves a request with the client configuration of its user.
type handler func(w http.ResponseWriter, r *http.Request, config *rest.Config)

// withCredentials refuses requests without credentials. The API server checks the credentials.
func (s *Server) withCredentials(next handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		config := s.configFor(r)
		if config == nil {
			writeError(w, http.StatusUnauthorized, "sign in first")
			return
		}
		next(w, r, config)
	}
}

// configFor returns the client configuration of a request's user, or nil. With a one-time link this is the kubeconfig's
// user; otherwise the bearer token of the request is its only credential.
func (s *Server) configFor(r *http.Request) *rest.Config {
	if s.session != nil {
		if !s.session.matches(r) {
			return nil
		}
		return rest.CopyConfig(s.o.Cluster)
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(kind, "Bearer") || token == "" {
		return nil
	}
	config := rest.AnonymousClientConfig(s.o.Cluster)
	config.BearerToken = token
	return config
}

// serveUser serves the user's name and groups from a SelfSubjectReview.
func (s *Server) serveUser(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		writeFailure(w, err)
		return
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(r.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		writeFailure(w, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"name": review.Status.UserInfo.Username, "groups": review.Status.UserInfo.Groups})
}

// writeFailure sends an error with the API server's status code, or 502 if the API server did not respond.
func writeFailure(w http.ResponseWriter, err error) {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code >= http.StatusBadRequest {
		writeError(w, int(status.Status().Code), err.Error())
		return
	}
	writeError(w, http.StatusBadGateway, err.Error())
}
