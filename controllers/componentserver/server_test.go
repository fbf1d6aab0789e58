package componentserver

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/controllers/componentserver/reviewtest"
)

// newClient returns a client that authenticates the token "good" and authorizes all users to get /metrics.
func newClient(base kubernetes.Interface) kubernetes.Interface {
	return reviewtest.Reviews{Tokens: []string{"good"}, Allow: func(_, path string) bool { return path == "/metrics" }}.Client(base)
}

func newServer(client kubernetes.Interface) *Server {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "test_requests"}))
	return &Server{Component: "test", Client: client, Readyz: func() error { return errors.New("not yet") },
		Protected: NewMux(registry, map[string]int{"a": 1})}
}

func TestAuthorization(t *testing.T) {
	handler, err := newServer(newClient(fake.NewClientset())).Handler()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		path, token string
		code        int
		body        string
	}{
		{"/livez", "", 200, "ok"},
		{"/healthz", "", 200, "ok"},
		{"/readyz", "", 503, "not yet"},
		{"/metrics", "", 401, "Unauthorized"},
		{"/metrics", "forged", 401, "Unauthorized"},
		{"/metrics", "good", 200, "test_requests 0"},
		{"/configz", "good", 403, "/configz"},
		{"/no/such", "", 401, ""},
	} {
		response, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, tc.path, nil)
		if tc.token != "" {
			request.Header.Set("Authorization", "Bearer "+tc.token)
		}
		if handler.ServeHTTP(response, request); response.Code != tc.code || !strings.Contains(response.Body.String(), tc.body) {
			t.Errorf("%s with token %q: status %d, body %s, want %d and %q", tc.path, tc.token, response.Code, response.Body, tc.code, tc.body)
		}
	}
}

type family string

func (f family) GetName() string { return string(f) }

func TestFilterByPrefix(t *testing.T) {
	gather := func() ([]family, error) {
		return []family{"apiserver_requests", "workqueue_depth", "workqueue_adds_total"}, nil
	}
	if got, _ := filterByPrefix(gather, []string{"workqueue_", "leader_"})(); len(got) != 2 || got[0] != "workqueue_depth" {
		t.Errorf("got %v, want the two workqueue metrics", got)
	}
	if got, _ := filterByPrefix(gather, nil)(); got != nil {
		t.Errorf("got %v without prefixes, want none", got)
	}
}

func TestListenOrAnyPort(t *testing.T) {
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	second, err := ListenOrAnyPort(first.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Close() }()
	if _, err := ListenOrAnyPort("no port"); err == nil {
		t.Error("ListenOrAnyPort accepts an address without a port, want an error")
	}
}

// TestRestClientMetrics checks that NewMux exposes the number of requests of client-go.
func TestRestClientMetrics(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client := kubernetes.NewForConfigOrDie(&rest.Config{Host: server.URL})
	_, _ = client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	w := httptest.NewRecorder()
	NewMux(prometheus.NewRegistry(), nil, "rest_client_").ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(w.Body.String(), "rest_client_requests_total{code=\"404\"") {
		t.Errorf("metrics %q, want rest_client_requests_total", w.Body.String())
	}
}
