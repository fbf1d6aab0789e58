package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

func TestRequiredAttributes(t *testing.T) {
	for request, want := range map[string]string{
		"GET /stats/summary":          "[{get stats n1}]",
		"GET /metrics/resource":       "[{get metrics n1}]",
		"GET /pods":                   "[{get pods n1} {get proxy n1}]",
		"GET /healthz":                "[{get healthz n1} {get proxy n1}]",
		"GET /containerLogs/a/b/c":    "[{get proxy n1}]",
		"GET /exec/a/b/c":             "[{create proxy n1}]", // a WebSocket
		"POST /exec/a/b/c":            "[{create proxy n1}]",
		"GET /attach/a/b/c":           "[{create proxy n1}]",
		"GET /portForward/a/b":        "[{create proxy n1}]",
		"GET /disk":                   "[{get proxy n1}]",
		"DELETE /unknown":             "[{delete proxy n1}]",
		"GET /metricsx":               "[{get proxy n1}]",
		"GET /exec/../stats/summary/": "[{create proxy n1}]",
	} {
		var method, path string
		if _, err := fmt.Sscan(request, &method, &path); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(requiredAttributes(&http.Request{Method: method}, path, &Node{Name: "n1"})); got != want {
			t.Errorf("%s: %s, want %s", request, got, want)
		}
	}
}

// Authorization applies to the path as it is served: a path that is cleaned to another one is
// rejected.
func TestPathsMatchAuthorizedAttributes(t *testing.T) {
	s := &Server{mux: http.NewServeMux(), nodes: map[string]*Node{}}
	s.registerRoutes()
	for _, path := range []string{"/nodes/n1/stats/../exec/a/b/c", "/nodes/n1//exec/a/b/c", "/nodes/n1/healthz/../../n1/exec/a/b/c"} {
		w := httptest.NewRecorder()
		s.mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://node"+path, nil))
		if w.Code < 300 || w.Code >= 500 {
			t.Errorf("%s: status %d, want a redirect or a client error", path, w.Code)
		}
	}
}

func TestLogRequest(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for query, want := range map[string]string{
		"":                             "{true true -1 0001-01-01 00:00:00 +0000 UTC 0 false false} false",
		"tailLines=0&follow=true":      "{true true 0 0001-01-01 00:00:00 +0000 UTC 0 false true} false",
		"sinceSeconds=5&previous=true": "{true true -1 2026-01-02 03:04:00 +0000 UTC 0 false false} true",
		"sinceTime=2026-01-01T00:00:00Z&timestamps=1&limitBytes=9": "{true true -1 2026-01-01 00:00:00 +0000 UTC 9 true false} false",
		"stream=Stderr":    "{false true -1 0001-01-01 00:00:00 +0000 UTC 0 false false} false",
		"tailLines=-1":     `tailLines="-1": must be a number of at least 0`,
		"limitBytes=0":     `limitBytes="0": must be a number of at least 1`,
		"sinceSeconds=x":   `sinceSeconds="x": must be a number of at least 1`,
		"sinceTime=monday": `sinceTime="monday": must be a time such as 2026-01-02T15:04:05Z`,
		"follow=perhaps":   `follow="perhaps": must be true or false`,
		"stream=Stdin":     `stream="Stdin": must be All, Stdout or Stderr`,
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		q, previous, err := logRequest(values, now)
		got := fmt.Sprint(q, previous)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}
