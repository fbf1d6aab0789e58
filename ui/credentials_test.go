package ui

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

var dataPaths = []string{"/ui/api/user", "/ui/api/pod?namespace=a&name=b", "/ui/api/queue", "/ui/api/displacements", "/ui/cluster/api/v1/nodes",
	"/ui/cluster/api/v1/pods", "/ui/cluster/apis/policy/v1/poddisruptionbudgets"}

// TestRequestsWithoutCredentialsAreRejected checks that a request without credentials gets no data, even if the server's
// kubeconfig has credentials.
func TestRequestsWithoutCredentialsAreRejected(t *testing.T) {
	api := newAPIServer(t)
	for _, link := range []bool{false, true} {
		s := newPage(t, &rest.Config{Host: api.URL, BearerToken: "good"}, link)
		cookie := newSession().cookie
		if link {
			cookie = s.session.cookie
		}
		headers := [][]string{nil, {"Cookie", cookie + "="}, {"Cookie", cookie + "=x"}, {"Authorization", "Bearer "}, {"Authorization", "Basic Z29vZDo="}}
		if link {
			headers = append(headers, []string{"Authorization", "Bearer good"})
		}
		for _, path := range dataPaths {
			for _, h := range headers {
				if w := request(s, http.MethodGet, path, "", h...); w.Code != http.StatusUnauthorized {
					t.Errorf("link %t: %s with %q: got status %d, want 401", link, path, h, w.Code)
				}
			}
		}
	}
	if api.header != nil {
		t.Errorf("the API server got a request for %s, want none", api.url)
	}
}

// TestBearerTokenIsForwarded checks that the server forwards the token of the request and not the credentials of the
// kubeconfig.
func TestBearerTokenIsForwarded(t *testing.T) {
	api := newAPIServer(t)
	s := newPage(t, &rest.Config{Host: api.URL, BearerToken: "good", Impersonate: rest.ImpersonationConfig{UserName: "x"}}, false)
	for token, want := range map[string]int{"good": http.StatusOK, "bad": http.StatusUnauthorized} {
		if w := request(s, http.MethodGet, "/ui/cluster/api/v1/pods", "", "Authorization", "Bearer "+token); w.Code != want {
			t.Errorf("pods with token %s: got status %d, want %d", token, w.Code, want)
		}
		if got := api.header.Get("Authorization"); got != "Bearer "+token {
			t.Errorf("the API server got Authorization %q, want the request's token %q", got, token)
		}
		if got := api.header.Get("Impersonate-User"); got != "" {
			t.Errorf("the API server got Impersonate-User %q, want none", got)
		}
	}
	for _, path := range dataPaths[1:4] {
		if w := request(s, http.MethodGet, path, "", "Authorization", "Bearer bad"); w.Code != http.StatusForbidden {
			t.Errorf("%s: got status %d, want the API server's 403", path, w.Code)
		}
		if w := request(s, http.MethodGet, path, "", "Authorization", "Bearer good"); w.Code != http.StatusOK {
			t.Errorf("%s: got status %d, want 200", path, w.Code)
		}
	}
}

func TestOneTimeLinkStartsOneSession(t *testing.T) {
	api := newAPIServer(t)
	s := newPage(t, &rest.Config{Host: api.URL, BearerToken: "good"}, true)
	code, ok := strings.CutPrefix(s.Link(), "/ui/#")
	if !ok || len(code) < 20 {
		t.Fatalf("got link %q, want /ui/# and a code of at least 20 characters", s.Link())
	}
	origin := []string{"Origin", "http://" + host}
	if w := request(s, http.MethodPost, "/ui/session", `{"code":"`+code[1:]+`x"}`, origin...); w.Code != http.StatusForbidden || len(w.Result().Cookies()) != 0 {
		t.Errorf("wrong code: got status %d with cookies %v, want 403 without a cookie", w.Code, w.Result().Cookies())
	}
	if w := request(s, http.MethodGet, "/ui/session?code="+code, ""); len(w.Result().Cookies()) != 0 {
		t.Errorf("GET sets cookies %v, want none", w.Result().Cookies())
	}
	w := request(s, http.MethodPost, "/ui/session", `{"code":"`+code+`"}`, origin...)
	cookies := w.Result().Cookies()
	if w.Code != http.StatusNoContent || len(cookies) != 1 {
		t.Fatalf("got status %d and %d cookies, want 204 and 1", w.Code, len(cookies))
	}
	c := cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/ui/" || c.Domain != "" || c.Value == code {
		t.Errorf("cookie %+v: must be HttpOnly and SameSite=Strict, for /ui/ of this host", c)
	}
	if w := request(s, http.MethodPost, "/ui/session", `{"code":"`+code+`"}`, origin...); w.Code != http.StatusForbidden {
		t.Errorf("second use of the link: got status %d, want 403", w.Code)
	}
	if w := request(s, http.MethodGet, "/ui/cluster/api/v1/nodes?watch=1", "", "Cookie", c.Name+"="+c.Value, "Impersonate-User", "admin"); w.Code != http.StatusOK || w.Body.String() != `{"items":[]}` {
		t.Errorf("with the cookie: got status %d %s, want 200 and the list", w.Code, w.Body)
	}
	if api.header.Get("Cookie") != "" || api.header.Get("Impersonate-User") != "" || api.url != "/api/v1/nodes?watch=1" {
		t.Errorf("the API server got %s with headers %v, want the watch without Cookie and Impersonate-User", api.url, api.header)
	}
}

func TestOnlyListedPathsAreForwarded(t *testing.T) {
	api := newAPIServer(t)
	s := newPage(t, &rest.Config{Host: api.URL}, false)
	for _, path := range []string{"/api/v1/secrets", "/api/v1/namespaces/a/secrets", "/api/v1/nodes/n1/proxy/", "/api/v1/namespaces/a/pods/b", "/api/v1/namespaces/a/pods/b/log",
		"/api/v1/namespaces/a/pods/b/proxy/pods", "/api/v1/namespaces/%2e%2e/pods", "/api/v1/namespaces/a%2Fsecrets%2Fb/pods", "/apis/policy/v1/namespaces/a/pods", "", "/", "/metrics"} {
		w := request(s, http.MethodGet, "/ui/cluster"+path, "", "Authorization", "Bearer good")
		if w.Code == http.StatusOK && !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s: got status %d, want an error or the page", path, w.Code)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodDelete, http.MethodPatch, http.MethodPut} {
		if w := request(s, method, "/ui/cluster/api/v1/pods", "", "Authorization", "Bearer good", "Origin", "http://"+host); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: got status %d, want 405", method, w.Code)
		}
	}
	if api.header != nil {
		t.Errorf("the API server got a request for %s, want none", api.url)
	}
	w := request(s, http.MethodGet, "/ui/cluster/apis/policy/v1/namespaces/shop/poddisruptionbudgets?limit=5", "", "Authorization", "Bearer good")
	if w.Code != http.StatusOK || api.url != "/apis/policy/v1/namespaces/shop/poddisruptionbudgets?limit=5" {
		t.Errorf("budgets: got status %d and request %s, want 200 and the path of the budgets", w.Code, api.url)
	}
	if h := w.Header(); h.Get("Content-Type") != "application/json" || h.Get("Set-Cookie") != "" {
		t.Errorf("got headers %v, want Content-Type application/json and no Set-Cookie", h)
	}
}

func TestNamesAreValidated(t *testing.T) {
	s := newPage(t, &rest.Config{}, false)
	for _, query := range []string{"/ui/api/pod", "/ui/api/pod?namespace=a", "/ui/api/pod?namespace=../b&name=c", "/ui/api/pod?namespace=a&name=<script>", "/ui/api/queue?namespace=a/b", "/ui/api/displacements?namespace=.."} {
		if w := request(s, http.MethodGet, query, "", "Authorization", "Bearer good"); w.Code != http.StatusBadRequest {
			t.Errorf("%s: got status %d, want 400", query, w.Code)
		}
	}
}

// TestServersHaveDifferentCookies checks that two servers set cookies of different names, because browsers send the
// cookies of a host to all of its ports.
func TestServersHaveDifferentCookies(t *testing.T) {
	api := newAPIServer(t)
	var servers []*Server
	var cookies []string
	names := map[string]bool{}
	for range 2 {
		s := newPage(t, &rest.Config{Host: api.URL, BearerToken: "good"}, true)
		w := request(s, http.MethodPost, "/ui/session", `{"code":"`+s.session.code+`"}`, "Origin", "http://"+host)
		for _, c := range w.Result().Cookies() {
			names[c.Name] = true
			cookies = append(cookies, c.Name+"="+c.Value)
		}
		servers = append(servers, s)
	}
	if len(names) != 2 {
		t.Fatalf("two servers set cookies %q, want two names", cookies)
	}
	for _, s := range servers {
		if w := request(s, http.MethodGet, "/ui/api/queue", "", "Cookie", strings.Join(cookies, "; ")); w.Code != http.StatusOK {
			t.Errorf("with the cookies of both servers: got status %d, want 200", w.Code)
		}
	}
}
