package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/drain"
)

// maxDrainNodes is the maximum number of nodes in a preview.
const maxDrainNodes = 500

// drainFunc returns the preview of a drain of nodes.
type drainFunc = func(ctx context.Context, config *rest.Config, nodes []string, o drain.Options) ([]byte, error)

// serveDrain serves the preview of a drain. The parameter node may be repeated. The other parameters are flags of
// `berth drain`.
func (s *Server) serveDrain(get drainFunc) handler {
	return func(w http.ResponseWriter, r *http.Request, config *rest.Config) {
		nodes, o, err := drainParameters(r.URL.Query())
		if err != nil {
			writeError(w, http.StatusBadRequest, err.Error())
			return
		}
		s.answer(w, r, config, func(ctx context.Context) ([]byte, error) { return get(ctx, config, nodes, o) })
	}
}

func drainParameters(query url.Values) (nodes []string, o drain.Options, err error) {
	nodes, o.IgnoreDaemonSets = query["node"], true
	if len(nodes) == 0 || len(nodes) > maxDrainNodes {
		return nil, o, fmt.Errorf("node: must be given 1 to %d times", maxDrainNodes)
	}
	for _, n := range nodes {
		if err := validateNode(n); err != nil {
			return nil, o, err
		}
	}
	for name, option := range map[string]*bool{"surge": &o.Surge, "force": &o.Force, "delete-emptydir-data": &o.DeleteEmptyDirData} {
		switch query.Get(name) {
		case "", "false":
		case "true":
			*option = true
		default:
			return nil, o, fmt.Errorf("%s: must be true or false", name)
		}
	}
	return nodes, o, nil
}

// serveZones serves the output of `berth zones`.
func (s *Server) serveZones(get func(context.Context, *rest.Config) ([]byte, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, config *rest.Config) {
		s.answer(w, r, config, func(ctx context.Context) ([]byte, error) { return get(ctx, config) })
	}
}

// serveDescheduler serves the preview of a run of the descheduler.
func (s *Server) serveDescheduler(get func(ctx context.Context, config *rest.Config, maxEvictions *int) ([]byte, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, config *rest.Config) {
		var limit *int
		if text := r.URL.Query().Get("max-evictions"); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				writeError(w, http.StatusBadRequest, "max-evictions: must be a number of at least 0")
				return
			}
			limit = &n
		}
		s.answer(w, r, config, func(ctx context.Context) ([]byte, error) { return get(ctx, config, limit) })
	}
}

// serveReport serves a report of a node's agent. Reports have separate slots, because a node that does not respond must
// not block other answers.
func (s *Server) serveReport(get func(context.Context, *rest.Config, string) ([]byte, error)) handler {
	return s.serveNode(s.reporting, reportTimeout, get)
}

// serveNode serves an answer about the node in the parameter name.
func (s *Server) serveNode(slots chan struct{}, timeout time.Duration, get func(context.Context, *rest.Config, string) ([]byte, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, config *rest.Config) {
		name := r.URL.Query().Get("name")
		if err := validateNode(name); err != nil {
			writeError(w, http.StatusBadRequest, err.Error())
			return
		}
		s.answerWithin(w, r, config, slots, timeout, func(ctx context.Context) ([]byte, error) { return get(ctx, config, name) })
	}
}

// validateNode returns an error unless name is a valid name of a node.
func validateNode(name string) error {
	if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
		return errors.New("node: " + strings.Join(errs, "; "))
	}
	return nil
}
