package ui

import (
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// handler serves a request with the client configuration of its user.
type handler func(w http.ResponseWriter, r *http.Request, config *rest.Config)

// withCredentials rejects requests without credentials. The API server checks the credentials.
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

// configFor returns the client configuration of a request's user, or nil. With a one-time link this is the user of the
// kubeconfig. Otherwise it is the user of the request's bearer token, or of the client certificate of its connection.
func (s *Server) configFor(r *http.Request) *rest.Config {
	if s.session != nil {
		if !s.session.matches(r) {
			return nil
		}
		return withoutRateLimit(rest.CopyConfig(s.o.Cluster))
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if kind == "" {
		return s.o.ClientCertificates.configFor(r)
	}
	if token = strings.TrimSpace(token); !strings.EqualFold(kind, "Bearer") || token == "" {
		return nil
	}
	config := rest.AnonymousClientConfig(s.o.Cluster)
	config.BearerToken = token
	return withoutRateLimit(config)
}

// withoutRateLimit disables the rate limit of clients: the number of answers at a time limits the load.
func withoutRateLimit(config *rest.Config) *rest.Config {
	config.QPS = -1
	return config
}

// serveUser serves the user's name and groups from a SelfSubjectReview, and the policy file for the commands that the
// page shows.
func (s *Server) serveUser(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	user, err := userOf(r.Context(), config)
	if err != nil {
		writeFailure(w, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"name": user.Username, "groups": user.Groups, "policyFile": s.o.PolicyFile})
}

// writeFailure sends an error with the API server's status code, or 502 if the API server did not respond.
func writeFailure(w http.ResponseWriter, err error) {
	f := failureOf(err)
	writeError(w, f.Code, f.Message)
}
