package componentstatus

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// HTTPS accepts any certificate, and reports the answer of an unhealthy component and a closed port.
func TestHTTPS(t *testing.T) {
	answer := func(status int, text string) *httptest.Server {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/healthz" {
				t.Errorf("path %q, want /healthz", r.URL.Path)
			}
			http.Error(w, text, status)
		}))
		t.Cleanup(server.Close)
		return server
	}
	address := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	if err := HTTPS(address(answer(http.StatusOK, "ok")))(t.Context()); err != nil {
		t.Errorf("healthy component: %v", err)
	}
	if err := HTTPS(address(answer(http.StatusServiceUnavailable, "stuck")))(t.Context()); err == nil || err.Error() != "HTTP status 503: stuck" {
		t.Errorf("unhealthy component: %v", err)
	}
	closed := answer(http.StatusOK, "ok")
	closed.Close()
	if err := HTTPS(address(closed))(t.Context()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("component that does not run: %v", err)
	}
}
