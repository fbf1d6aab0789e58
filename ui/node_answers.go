package ui

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/drain"
)

// maxDrainNodes is the maximum number of nodes in a preview.
const maxDrainNodes = 500

// serveDrain serves the preview of a drain. The parameter node may be repeated. The other parameters are flags of
// `berth drain`.
func (s *Server) serveDrain(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	query := r.URL.Query()
	nodes := query["node"]
	if len(nodes) == 0 || len(nodes) > maxDrainNodes {
		writeError(w, http.StatusBadRequest, fmt.Sprintf("node: must be given 1 to %d times", maxDrainNodes))
		return
	}
	for _, n := range nodes {
		if !validNode(w, n) {
			return
		}
	}
	o := drain.Options{IgnoreDaemonSets: true}
	for name, option := range map[string]*bool{"surge": &o.Surge, "force": &o.Force, "delete-emptydir-data": &o.DeleteEmptyDirData} {
		switch query.Get(name) {
		case "", "false":
		case "true":
			*option = true
		default:
			writeError(w, http.StatusBadRequest, name+": must be true or false")
			return
		}
	}
	s.answer(w, r, config, func(ctx context.Context) ([]byte, error) { return s.o.Answers.Drain(ctx, config, nodes, o) })
}

// serveZones serves the output of `berth zones`.
func (s *Server) serveZones(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	s.answer(w, r, config, func(ctx context.Context) ([]byte, error) { return s.o.Answers.Zones(ctx, config) })
}

// serveDescheduler serves the preview of a run of the descheduler.
func (s *Server) serveDescheduler(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	var limit *int
	if text := r.URL.Query().Get("max-evictions"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			writeError(w, http.StatusBadRequest, "max-evictions: must be a number of at least 0")
			return
		}
		limit = &n
	}
	s.answer(w, r, config, func(ctx context.Context) ([]byte, error) { return s.o.Answers.Descheduler(ctx, config, limit) })
}

// serveNode serves a report of the node in the parameter name. Reports have separate slots, because a node that does not
// respond must not block other answers.
func (s *Server) serveNode(get func(context.Context, *rest.Config, string) ([]byte, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, config *rest.Config) {
		if name := r.URL.Query().Get("name"); validNode(w, name) {
			s.answerWithin(w, r, config, s.reporting, reportTimeout, func(ctx context.Context) ([]byte, error) { return get(ctx, config, name) })
		}
	}
}

// validNode reports whether name is a valid name of a node. If it is not, validNode sends an error.
func validNode(w http.ResponseWriter, name string) bool {
	errs := validation.IsDNS1123Subdomain(name)
	if len(errs) > 0 {
		writeError(w, http.StatusBadRequest, "node: "+strings.Join(errs, "; "))
	}
	return len(errs) == 0
}
