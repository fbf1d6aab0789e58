package metricsserver

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	ktesting "k8s.io/client-go/testing"
)

// get sends a request with a token.
func get(s *Server, path, token string) *httptest.ResponseRecorder {
	page, request := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	s.Handler().ServeHTTP(page, request)
	return page
}

func TestAuthorization(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("create", "tokenreviews", func(a ktesting.Action) (bool, runtime.Object, error) {
		r := &authenticationv1.TokenReview{}
		if c, ok := a.(ktesting.CreateAction); ok {
			if sent, ok := c.GetObject().(*authenticationv1.TokenReview); ok {
				r.Status.Authenticated = sent.Spec.Token == "good"
			}
		}
		return true, r, nil
	})
	client.PrependReactor("create", "subjectaccessreviews", func(a ktesting.Action) (bool, runtime.Object, error) {
		r := &authorizationv1.SubjectAccessReview{}
		if c, ok := a.(ktesting.CreateAction); ok {
			if sent, ok := c.GetObject().(*authorizationv1.SubjectAccessReview); ok {
				r.Status.Allowed = sent.Spec.NonResourceAttributes.Path == "/metrics"
			}
		}
		return true, r, nil
	})
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "ours"}))
	s := &Server{Client: client, Readyz: func() error { return errors.New("not yet") }, Protected: NewMux(registry, map[string]int{"a": 1})}
	for _, tc := range []struct {
		path, token string
		code        int
		says        string
	}{
		{"/livez", "", 200, "ok"}, {"/healthz", "", 200, "ok"}, {"/readyz", "", 503, "not yet"},
		{"/metrics", "", 401, "bearer token"}, {"/metrics", "forged", 401, "invalid token"}, {"/metrics", "good", 200, "ours 0"},
		{"/configz", "good", 403, `"/configz"`}, {"/no/such", "", 401, ""},
	} {
		if page := get(s, tc.path, tc.token); page.Code != tc.code || !strings.Contains(page.Body.String(), tc.says) {
			t.Errorf("%s with token %q: %d %s", tc.path, tc.token, page.Code, page.Body)
		}
	}
}

type family string

func (f family) GetName() string { return string(f) }

func TestFilterByPrefix(t *testing.T) {
	all := func() ([]family, error) {
		return []family{"apiserver_requests", "workqueue_depth", "workqueue_adds_total"}, nil
	}
	if got, _ := filterByPrefix(all, []string{"workqueue_", "leader_"})(); len(got) != 2 || got[0] != "workqueue_depth" {
		t.Errorf("%v", got)
	}
	if got, _ := filterByPrefix(all, nil)(); got != nil {
		t.Errorf("%v without prefixes", got)
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
		t.Error("an address without port was accepted")
	}
}

// client-go counts requests if a counter is registered.
func TestRestClientMetrics(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client := kubernetes.NewForConfigOrDie(&rest.Config{Host: server.URL})
	_, _ = client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	w := httptest.NewRecorder()
	NewMux(prometheus.NewRegistry(), nil, "rest_client_").ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(w.Body.String(), "rest_client_requests_total{code=\"404\"") {
		t.Errorf("the page has %q", w.Body.String())
	}
}
