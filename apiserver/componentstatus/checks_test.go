package componentstatus

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestHTTPSReportsUnhealthyComponents checks that HTTPS accepts any serving certificate, and returns the response of an
// unhealthy component and the error of a closed connection.
func TestHTTPSReportsUnhealthyComponents(t *testing.T) {
	serve := func(status int, text string) *httptest.Server {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/healthz" {
				t.Errorf("got path %q, want /healthz", r.URL.Path)
			}
			http.Error(w, text, status)
		}))
		t.Cleanup(server.Close)
		return server
	}
	address := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	if err := HTTPS(address(serve(http.StatusOK, "ok")))(t.Context()); err != nil {
		t.Errorf("healthy component: got %v, want no error", err)
	}
	if err := HTTPS(address(serve(http.StatusServiceUnavailable, "stuck")))(t.Context()); err == nil || err.Error() != "HTTP status 503: stuck" {
		t.Errorf("unhealthy component: got %v, want HTTP status 503: stuck", err)
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
		t.Error("component that closes connections: got no error, want one")
	}
}
