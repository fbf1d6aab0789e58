package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestOverload checks that requests whose bodies do not end, and more readers than the server has
// seats, do not block other requests.
func TestOverload(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.server("--max-requests-inflight", "1", "--max-mutating-requests-inflight", "2")
	s := newAPIClients(t, c)
	release := s.holdWrites(t, 8)
	defer release()
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for ctx.Err() == nil {
				_, _ = s.roleMaker.call(ctx, http.MethodGet, "/openapi/v2", nil, "")
			}
		})
	}
	defer readers.Wait()
	defer stop()
	for i := range 10 {
		checkServerResponds(t, s.anonymous)
		c.mustKubectl("create", "configmap", fmt.Sprint("by-admin-", i))
		if got, err := s.viewer.call(t.Context(), http.MethodGet, pods, nil, ""); err != nil || got.code != http.StatusOK {
			t.Errorf("read by another user: got %+v, %v, want code 200", got, err)
		}
	}
}

// holdWrites opens n write requests whose bodies do not end until release is called.
func (s *apiClients) holdWrites(t *testing.T, n int) (release func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	var requests sync.WaitGroup
	for range n {
		body, end := io.Pipe()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.roleMaker.base+roles, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", s.roleMaker.token)
		req.Header.Set("Content-Type", "application/json")
		requests.Go(func() {
			if resp, err := s.roleMaker.http.Do(req); err == nil {
				resp.Body.Close()
			}
		})
		// The client sends the request only if the data exceeds its buffer.
		if _, err := end.Write([]byte(strings.Repeat(" ", 1<<17))); err != nil {
			t.Fatal(err)
		}
		context.AfterFunc(ctx, func() { end.Close() })
	}
	return func() {
		cancel()
		requests.Wait()
	}
}
