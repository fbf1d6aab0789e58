package componentstatus

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// HTTPS accepts any serving certificate. It returns the response of an unhealthy component, and an
// error if the connection is closed.
func TestHTTPSReportsUnhealthyComponents(t *testing.T) {
	serve := func(status int, text string) *httptest.Server {
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
	if err := HTTPS(address(serve(http.StatusOK, "ok")))(t.Context()); err != nil {
		t.Errorf("healthy component: %v, want no error", err)
	}
	if err := HTTPS(address(serve(http.StatusServiceUnavailable, "stuck")))(t.Context()); err == nil || err.Error() != "HTTP status 503: stuck" {
		t.Errorf("unhealthy component: %v, want HTTP status 503: stuck", err)
	}
	closing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer closing.Close()
	go func() {
		for {
			conn, err := closing.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	if err := HTTPS(closing.Addr().String())(t.Context()); err == nil {
		t.Error("a component that closes connections is reported as healthy")
	}
}
