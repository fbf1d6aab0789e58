package ui

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/ui/simulation"
)

const host = "127.0.0.1:6444"

// apiServer is a fake API server. It records the last request.
type apiServer struct {
	*httptest.Server
	header http.Header
	url    string
}

func newAPIServer(t *testing.T) *apiServer {
	a := &apiServer{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.header, a.url = r.Header.Clone(), r.URL.String()
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Set-Cookie", "from=cluster")
		if r.Header.Get("Authorization") != "Bearer good" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","code":401}`)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/selfsubjectreviews") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`)
			return
		}
		_, _ = io.WriteString(w, `{"items":[]}`)
	}))
	t.Cleanup(a.Close)
	return a
}

// newPage returns a page whose answers require the bearer token "good".
func newPage(t *testing.T, cluster *rest.Config, link bool) *Server {
	t.Helper()
	return newPageWith(t, Options{Cluster: cluster, OneTimeLink: link, Answers: newAnswers()})
}

func newPageWith(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newAnswers returns answers that require the bearer token "good".
func newAnswers() Answers {
	answer := func(config *rest.Config) ([]byte, error) {
		if config.BearerToken != "good" {
			return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
		}
		return []byte(`{"token":"good"}`), nil
	}
	list := func(_ context.Context, c *rest.Config, _ string) ([]byte, error) { return answer(c) }
	return Answers{Queue: list, Displacements: list, NodePressure: list, NodeDisk: list,
		Simulate: func(_ context.Context, c *rest.Config, _ SimulationRequest, _ func(*simulation.Frame) error) (*simulation.Result, error) {
			_, err := answer(c)
			return &simulation.Result{}, err
		},
		Pod:         func(_ context.Context, c *rest.Config, _, _ string) ([]byte, error) { return answer(c) },
		Drain:       func(_ context.Context, c *rest.Config, _ []string, _ drain.Options) ([]byte, error) { return answer(c) },
		Zones:       func(_ context.Context, c *rest.Config) ([]byte, error) { return answer(c) },
		Descheduler: func(_ context.Context, c *rest.Config, _ *int) ([]byte, error) { return answer(c) }}
}

// request sends a request. headers are pairs of name and value.
func request(s http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = host
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestEachResponseHasSecurityHeaders(t *testing.T) {
	s := newPage(t, &rest.Config{}, false)
	for _, path := range []string{"/", "/ui/", "/ui/app.js", "/ui/queue", "/ui/api/user", "/ui/api/sign-in", "/ui/cluster/api/v1/nodes", "/missing"} {
		h := request(s, http.MethodGet, path, "").Header()
		csp := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: got Content-Security-Policy %q, want %s", path, csp, part)
			}
		}
		if strings.Contains(csp, "unsafe") {
			t.Errorf("%s: got Content-Security-Policy %q, want no unsafe source", path, csp)
		}
		for name, want := range map[string]string{"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: got %s %q, want %q", path, name, got, want)
			}
		}
	}
}

func TestBundleIsEmbedded(t *testing.T) {
	s := newPage(t, &rest.Config{}, false)
	index := request(s, http.MethodGet, "/ui/", "").Body.String()
	if regexp.MustCompile(`<script[^>]*>[^<]|\son\w+=|style=|https?://`).MatchString(index) {
		t.Errorf("got page %s\nwant no inline script, no inline style and no other host", index)
	}
	files := regexp.MustCompile(`(?:src|href)="(/ui/[^"]+)"`).FindAllStringSubmatch(index, -1)
	if len(files) < 3 {
		t.Fatalf("the page refers to %d files, want at least 3: script, style and icon", len(files))
	}
	for _, f := range files {
		w := request(s, http.MethodGet, f[1], "")
		if w.Code != http.StatusOK || strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || w.Body.Len() == 0 {
			t.Errorf("%s: got status %d, %s, %d bytes; want a file that is not HTML", f[1], w.Code, w.Header().Get("Content-Type"), w.Body.Len())
		}
	}
	for _, view := range []string{"/ui/fleet", "/ui/pod/shop/web-0", "/ui/pod/shop/app.js", "/ui/../doc.go", "/ui/web"} {
		if w := request(s, http.MethodGet, view, ""); w.Code == http.StatusOK && w.Body.String() != index {
			t.Errorf("%s: got %q, want the page", view, w.Body)
		}
	}
}

func TestHostAndOriginAreChecked(t *testing.T) {
	for _, c := range []struct {
		name, method, path string
		headers            []string
		rejected           bool
	}{
		{"IP address", "GET", "/ui/", nil, false},
		{"localhost", "GET", "/ui/", []string{"Host", "localhost:6444"}, false},
		{"IPv6", "GET", "/ui/", []string{"Host", "[::1]:6444"}, false},
		{"name", "GET", "/ui/", []string{"Host", "attacker.example:6444"}, true},
		{"fetch of the page", "GET", "/ui/api/sign-in", []string{"Sec-Fetch-Site", "same-origin"}, false},
		{"fetch of another port", "GET", "/ui/api/sign-in", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors"}, true},
		{"fetch of another site", "GET", "/ui/api/sign-in", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}, true},
		{"link of another site", "GET", "/ui/queue", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, false},
		{"another origin", "GET", "/ui/api/sign-in", []string{"Origin", "http://attacker.example"}, true},
		{"POST of the page", "POST", "/ui/session", []string{"Origin", "http://" + host}, false},
		{"POST without origin", "POST", "/ui/session", nil, true},
		{"POST of another origin", "POST", "/ui/session", []string{"Origin", "http://attacker.example"}, true},
		{"POST of another port", "POST", "/ui/session", []string{"Origin", "http://127.0.0.1:9"}, true},
		{"POST of another scheme", "POST", "/ui/session", []string{"Origin", "https://" + host}, true},
		{"POST of a null origin", "POST", "/ui/session", []string{"Origin", "null"}, true},
	} {
		s := newPage(t, &rest.Config{}, true)
		w := request(s, c.method, c.path, `{"code":"`+s.session.code+`"}`, c.headers...)
		if rejected := w.Code == http.StatusForbidden; rejected != c.rejected {
			t.Errorf("%s: got status %d %s, want rejected: %t", c.name, w.Code, w.Body, c.rejected)
		}
	}
}
