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

// TestOverload checks that with all request slots in use, requests are rejected with 429
// and Retry-After, and health checks and the administrator are still served.
func TestOverload(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.server("--max-requests-inflight", "1", "--max-mutating-requests-inflight", "2")
	s := newAPIClients(t, c)
	t.Run("writes", func(t *testing.T) {
		free := s.holdWrites(t, 2)
		defer free()
		eventually(t, happenWithin, func() error { return s.checkTooManyRequests(t, http.MethodPost, roles) })
		checkAlive(t, s.anonymous)
		c.mustKubectl("create", "configmap", "by-admin")
		got, err := s.viewer.call(t.Context(), http.MethodGet, pods, nil, "")
		if err != nil || got.code != http.StatusOK {
			t.Errorf("a read while all places for writes are taken: %v, %+v", err, got)
		}
	})
	t.Run("reads", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		for range 8 {
			readers.Go(func() {
				for ctx.Err() == nil {
					_, _ = s.viewer.call(ctx, http.MethodGet, "/openapi/v2", nil, "")
				}
			})
		}
		defer readers.Wait()
		defer stop()
		refusals := 0
		eventually(t, happenWithin, func() error {
			checkAlive(t, s.anonymous)
			err := s.checkTooManyRequests(t, http.MethodGet, "/openapi/v2")
			if err == nil {
				refusals++
			}
			if refusals < 20 {
				return fmt.Errorf("%d reads were refused; the last was %v", refusals, err)
			}
			return nil
		})
	})
	eventually(t, happenWithin, func() error { // normal operation afterwards
		got, err := s.viewer.call(t.Context(), http.MethodGet, pods, nil, "")
		if err == nil && got.code != http.StatusOK {
			err = unexpectedResponse{got}
		}
		return err
	})
	if r := c.kubectl("get", "pods"); r.code != 0 {
		t.Error(r)
	}
}

// unexpectedResponse is a response with an unexpected code.
type unexpectedResponse struct{ apiResponse }

func (o unexpectedResponse) Error() string {
	return "answered " + http.StatusText(o.code) + ": " + shortened(o.message)
}

// checkTooManyRequests returns nil if a request was rejected with 429 and a Retry-After.
func (s *apiClients) checkTooManyRequests(t *testing.T, method, path string) error {
	t.Helper()
	got, err := s.roleMaker.call(t.Context(), method, path, asJSON, "{}")
	if err != nil {
		return err
	}
	if got.code != http.StatusTooManyRequests {
		return unexpectedResponse{got}
	}
	if got.header.Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
	return nil
}

// holdWrites occupies request slots with requests whose bodies do not end until free is
// called.
func (s *apiClients) holdWrites(t *testing.T, places int) (free func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	var held sync.WaitGroup
	for range places {
		body, end := io.Pipe()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.roleMaker.base+roles, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", s.roleMaker.token)
		req.Header.Set("Content-Type", "application/json")
		held.Go(func() {
			if resp, err := s.roleMaker.http.Do(req); err == nil {
				resp.Body.Close()
			}
		})
		// More than the buffer of the client, so that it sends the request.
		if _, err := end.Write([]byte(strings.Repeat(" ", 1<<17))); err != nil {
			t.Fatal(err)
		}
		context.AfterFunc(ctx, func() { end.Close() })
	}
	return func() {
		cancel()
		held.Wait()
	}
}
