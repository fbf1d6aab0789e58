package componentstatus

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// HTTPS accepts any certificate, and reports the answer of an unhealthy component and a closed connection.
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
