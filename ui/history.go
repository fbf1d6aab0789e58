package ui

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

// History computes the data of earlier times from a recording. Each function authorizes the user of config.
type History struct {
	// Range returns the first and the last time of the recording as from and to, or {} if it is empty.
	Range func(ctx context.Context, config *rest.Config, namespace string) ([]byte, error)
	// Fleet and Queue are for one namespace, or for all if it is empty.
	Fleet func(ctx context.Context, config *rest.Config, namespace string, at time.Time) ([]byte, error)
	Queue func(ctx context.Context, config *rest.Config, namespace string, at time.Time) ([]byte, error)
	Pod   func(ctx context.Context, config *rest.Config, namespace, name string, at time.Time) ([]byte, error)
}

// handleHistory registers the handlers of h, or handlers for a page without a recording if h is nil.
func (s *Server) handleHistory(h *History) {
	if h == nil {
		s.mux.HandleFunc("GET /ui/api/history/range", s.withCredentials(func(w http.ResponseWriter, _ *http.Request, _ *rest.Config) {
			writeJSON(w, http.StatusOK, struct{}{})
		}))
		s.mux.HandleFunc("GET /ui/api/history/", s.withCredentials(func(w http.ResponseWriter, _ *http.Request, _ *rest.Config) {
			writeError(w, http.StatusNotFound, "the inputs of the scheduler are not recorded")
		}))
		return
	}
	s.mux.HandleFunc("GET /ui/api/history/range", s.withCredentials(s.serveNamespace(h.Range)))
	s.mux.HandleFunc("GET /ui/api/history/fleet", s.withCredentials(s.serveNamespaceAt(h.Fleet)))
	s.mux.HandleFunc("GET /ui/api/history/queue", s.withCredentials(s.serveNamespaceAt(h.Queue)))
	s.mux.HandleFunc("GET /ui/api/history/pod", s.withCredentials(s.servePodAt(h.Pod)))
}

// serveNamespaceAt serves an answer about a namespace, or about all namespaces, at a time.
func (s *Server) serveNamespaceAt(get func(context.Context, *rest.Config, string, time.Time) ([]byte, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, config *rest.Config) {
		at, err := timeOf(r)
		if err != nil {
			writeError(w, http.StatusBadRequest, err.Error())
			return
		}
		s.serveNamespace(func(ctx context.Context, config *rest.Config, namespace string) ([]byte, error) {
			return get(ctx, config, namespace, at)
		})(w, r, config)
	}
}

// servePodAt serves an answer about a pod at a time.
func (s *Server) servePodAt(get func(context.Context, *rest.Config, string, string, time.Time) ([]byte, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, config *rest.Config) {
		at, err := timeOf(r)
		namespace, name := r.URL.Query().Get("namespace"), r.URL.Query().Get("name")
		switch {
		case err != nil:
			writeError(w, http.StatusBadRequest, err.Error())
		case len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0:
			writeError(w, http.StatusBadRequest, "namespace, name: must be the name of a namespace and the name of a pod")
		default:
			s.answer(w, r, config, func(ctx context.Context) ([]byte, error) { return get(ctx, config, namespace, name, at) })
		}
	}
}

// timeOf returns the time in the parameter at of a request.
func timeOf(r *http.Request) (time.Time, error) {
	text := r.URL.Query().Get("at")
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("at: %q: must be a time such as 2026-03-01T12:00:00Z", text)
	}
	return at, nil
}
