package podproxy

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestPodURL(t *testing.T) {
	for want, in := range map[string][3]string{
		"http://10.0.0.1":        {"", "10.0.0.1", ""},
		"https://10.0.0.1:8443":  {"https", "10.0.0.1", "8443"},
		"http://[2001:db8::1]":   {"", "2001:db8::1", ""},
		"http://[2001:db8::1]:9": {"http", "2001:db8::1", "9"},
	} {
		if got := podURL(in[0], in[1], in[2]).String(); got != want {
			t.Errorf("podURL(%q) = %s, want %s", in, got, want)
		}
	}
}

// echoTransport responds with the requested path.
type echoTransport struct{}

func (echoTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	_, err := w.WriteString(r.URL.Path)
	return w.Result(), err
}

// TestDotSegmentsStayBelowLocation checks that a client with access to one simulated node cannot use dot segments to
// reach another node of the same agent.
func TestDotSegmentsStayBelowLocation(t *testing.T) {
	for subpath, want := range map[string]string{
		"": "/nodes/n1", "stats/summary": "/nodes/n1/stats/summary", "/disk/": "/nodes/n1/disk/",
		"../n2/stats/summary": "/nodes/n1/n2/stats/summary", "a/../../../n2/pods": "/nodes/n1/n2/pods",
	} {
		p := &proxyREST{
			subpath: func(runtime.Object) string { return subpath },
			find: func(context.Context, string) (*url.URL, http.RoundTripper, error) {
				return &url.URL{Scheme: "https", Host: "agent:1", Path: "/nodes/n1"}, echoTransport{}, nil
			},
		}
		h, err := p.Connect(t.Context(), "n1", &corev1.NodeProxyOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://api/api/v1/nodes/n1/proxy", nil))
		if got := w.Body.String(); got != want {
			t.Errorf("path %q: got %s, want %s", subpath, got, want)
		}
	}
}

func TestInvalidProxyRequestIsNamed(t *testing.T) {
	const request = "a:b:c:d"
	for _, storage := range []any{NodeProxy(Connector{}), PodProxy(Connector{}), ServiceProxy(Connector{}, nil, nil)} {
		if _, _, err := storage.(*proxyREST).find(t.Context(), request); err == nil || !strings.Contains(err.Error(), `"`+request+`"`) {
			t.Errorf("got error %v, want one that contains %q", err, request)
		}
	}
}
