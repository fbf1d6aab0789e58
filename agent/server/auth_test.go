package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
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

// TestPathsMatchAuthorizedAttributes checks that authorization applies to the path as it is served: the server does not
// serve a path that is cleaned to another one.
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
