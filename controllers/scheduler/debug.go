package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/scheduling"
)

// queryTimeout bounds a query to the loop.
const queryTimeout = 5 * time.Second

// queryLoop runs a query in the loop, between two steps, and waits for it. The
// query must only copy data, since it blocks the loop.
func (s *scheduler) queryLoop(ctx context.Context, query func(*scheduling.Machine)) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	done := make(chan struct{})
	run := func(m *scheduling.Machine) {
		query(m)
		close(done)
	}
	select {
	case s.queries <- run:
		<-done
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the scheduling loop did not answer within %v; caches may not be synced yet", queryTimeout)
	}
}

// reply sends a value as text, or as JSON if the Accept header or
// ?format=json selects it.
func reply(w http.ResponseWriter, r *http.Request, value any, text func(io.Writer)) {
	format := r.URL.Query().Get("format")
	switch {
	case format != "" && format != "json" && format != "text":
		http.Error(w, fmt.Sprintf("format: %q: must be json or text", format), http.StatusBadRequest)
	case format == "json" || format == "" && strings.Contains(r.Header.Get("Accept"), "application/json"):
		w.Header().Set("Content-Type", "application/json")
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		_ = e.Encode(value)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		text(w)
	}
}
