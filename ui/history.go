package ui

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/drain"
)

// History computes the data of earlier times from a recording, in the form of Answers. Each function authorizes the user
// of config.
type History struct {
	// Range returns the first and the last time of the recording as from and to, or {} if it is empty.
	Range func(ctx context.Context, config *rest.Config, namespace string) ([]byte, error)
	// Fleet, Queue and Budgets are for one namespace, or for all if it is empty.
	Fleet, Queue, Budgets func(ctx context.Context, config *rest.Config, namespace string, at time.Time) ([]byte, error)
	Pod                   func(ctx context.Context, config *rest.Config, namespace, name string, at time.Time) ([]byte, error)
	Drain                 func(ctx context.Context, config *rest.Config, nodes []string, o drain.Options, at time.Time) ([]byte, error)
	Zones                 func(ctx context.Context, config *rest.Config, at time.Time) ([]byte, error)
	Descheduler           func(ctx context.Context, config *rest.Config, maxEvictions *int, at time.Time) ([]byte, error)
	NodePressure          func(ctx context.Context, config *rest.Config, node string, at time.Time) ([]byte, error)
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
	for name, get := range map[string]func(context.Context, *rest.Config, string, time.Time) ([]byte, error){"fleet": h.Fleet, "queue": h.Queue, "budgets": h.Budgets} {
		s.serveAt(name, func(at time.Time) handler {
			return s.serveNamespace(func(ctx context.Context, c *rest.Config, namespace string) ([]byte, error) {
				return get(ctx, c, namespace, at)
			})
		})
	}
	s.serveAt("pod", func(at time.Time) handler {
		return s.servePod(func(ctx context.Context, c *rest.Config, namespace, name string) ([]byte, error) {
			return h.Pod(ctx, c, namespace, name, at)
		})
	})
	s.serveAt("drain", func(at time.Time) handler {
		return s.serveDrain(func(ctx context.Context, c *rest.Config, nodes []string, o drain.Options) ([]byte, error) {
			return h.Drain(ctx, c, nodes, o, at)
		})
	})
	s.serveAt("zones", func(at time.Time) handler {
		return s.serveZones(func(ctx context.Context, c *rest.Config) ([]byte, error) { return h.Zones(ctx, c, at) })
	})
	s.serveAt("descheduler", func(at time.Time) handler {
		return s.serveDescheduler(func(ctx context.Context, c *rest.Config, limit *int) ([]byte, error) {
			return h.Descheduler(ctx, c, limit, at)
		})
	})
	s.serveAt("node/pressure", func(at time.Time) handler {
		return s.serveNode(s.answering, answerTimeout, func(ctx context.Context, c *rest.Config, node string) ([]byte, error) {
			return h.NodePressure(ctx, c, node, at)
		})
	})
}

// serveAt registers a handler for an answer at the time in the parameter at.
func (s *Server) serveAt(name string, handlerAt func(at time.Time) handler) {
	s.mux.HandleFunc("GET /ui/api/history/"+name, s.withCredentials(func(w http.ResponseWriter, r *http.Request, config *rest.Config) {
		at, err := timeOf(r)
		if err != nil {
			writeError(w, http.StatusBadRequest, err.Error())
			return
		}
		handlerAt(at)(w, r, config)
	}))
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
