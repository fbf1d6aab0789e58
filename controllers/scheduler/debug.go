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

// queryTimeout is how long a question to the loop may take.
const queryTimeout = 5 * time.Second

// queryLoop has the loop run a question between two steps, and waits for it. The
// question must only copy: the loop stands still meanwhile.
func (s *scheduler) queryLoop(ctx context.Context, question func(*scheduling.Machine)) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	done := make(chan struct{})
	asked := func(m *scheduling.Machine) {
		question(m)
		close(done)
	}
	select {
	case s.queries <- asked:
		<-done
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the scheduling loop did not come round within %v; it may still be waiting for the first lists", queryTimeout)
	}
}

// reply sends a value as JSON or, unless JSON is asked for by Accept or
// ?format=json, as text.
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
