package probe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// hostAndPort returns the host and the port of a server's URL.
func hostAndPort(t *testing.T, server string) (string, int) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return u.Hostname(), port
}

func TestHTTP(t *testing.T) {
	var received *http.Request
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		received = r
		code, err := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
		if err != nil {
			code = 200
		}
		w.WriteHeader(code)
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/500", http.StatusFound) })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/external", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://example.invalid/", http.StatusFound)
	})
	plain, secure := httptest.NewServer(mux), httptest.NewTLSServer(mux)
	defer plain.Close()
	defer secure.Close()
	host, port := hostAndPort(t, plain.URL)
	_, tls := hostAndPort(t, secure.URL)
	c := &corev1.Container{Name: "main", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: int32(port)}}}
	for name, tc := range map[string]struct {
		action  corev1.HTTPGetAction
		outcome outcome
		want    string // part of the message
	}{
		"ok":                       {corev1.HTTPGetAction{Path: "/200", Port: intstr.FromInt(port)}, success, ""},
		"399":                      {corev1.HTTPGetAction{Path: "/399", Port: intstr.FromInt(port)}, success, "Probe terminated redirects"},
		"400":                      {corev1.HTTPGetAction{Path: "/400", Port: intstr.FromInt(port)}, failure, "HTTP probe failed with statuscode: 400"},
		"500":                      {corev1.HTTPGetAction{Path: "500", Port: intstr.FromInt(port)}, failure, "HTTP probe failed with statuscode: 500"},
		"named port":               {corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("web")}, success, ""},
		"unknown name":             {corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("x")}, unknown, `couldn't find port: "x" is not a port of container "main"`},
		"invalid number":           {corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt(70000)}, unknown, "invalid port number: 70000; must be from 1 to 65535"},
		"redirect followed":        {corev1.HTTPGetAction{Path: "/redirect", Port: intstr.FromInt(port)}, failure, "statuscode: 500"},
		"redirect loop":            {corev1.HTTPGetAction{Path: "/loop", Port: intstr.FromInt(port)}, failure, "stopped after 10 redirects"},
		"redirect to another host": {corev1.HTTPGetAction{Path: "/external", Port: intstr.FromInt(port)}, success, "Probe terminated redirects"},
		"https":                    {corev1.HTTPGetAction{Path: "/200", Port: intstr.FromInt(tls), Scheme: corev1.URISchemeHTTPS}, success, ""},
		"plain to https":           {corev1.HTTPGetAction{Path: "/200", Port: intstr.FromInt(tls)}, failure, "statuscode: 400"},
		"connection refused":       {corev1.HTTPGetAction{Path: "/200", Port: intstr.FromInt(1)}, failure, "connection refused"},
	} {
		r := probeHTTP(t.Context(), &tc.action, c, host)
		if r.outcome != tc.outcome || !strings.Contains(r.message, tc.want) || tc.want == "" && r.message != "" {
			t.Errorf("%s: %+v, want %d %q", name, r, tc.outcome, tc.want)
		}
	}
	if ok, message := HTTPGet(t.Context(), &corev1.HTTPGetAction{Path: "/x?a=b", Port: intstr.FromInt(port), HTTPHeaders: []corev1.HTTPHeader{
		{Name: "Host", Value: "shop"}, {Name: "X-A", Value: "1"}, {Name: "X-A", Value: "2"}}}, c, host); !ok {
		t.Errorf("HTTPGet of a working server failed with %q, want success", message)
	}
	if received.Host != "shop" || len(received.Header["X-A"]) != 2 || received.URL.RawQuery != "a=b" || received.Header.Get("User-Agent") != userAgent || received.Header.Get("Accept") != "*/*" {
		t.Errorf("the server received host %q, query %q and headers %v, want those of the action and the defaults", received.Host, received.URL.RawQuery, received.Header)
	}
}

func TestTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	p := New(Options{})
	spec := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(port)}}}
	tgt := &Target{Container: &corev1.Container{Name: "main"}, Address: "127.0.0.1"}
	if r := p.runProbe(t.Context(), tgt, spec); r.outcome != success {
		t.Errorf("open port: %+v, want success", r)
	}
	_ = l.Close()
	if r := p.runProbe(t.Context(), tgt, spec); r.outcome != failure || !strings.Contains(r.message, "connection refused") {
		t.Errorf("closed port: %+v, want a refused connection", r)
	}
	if r := p.runProbe(t.Context(), tgt, &corev1.Probe{}); r.outcome != unknown || !strings.Contains(r.message, "missing probe handler") {
		t.Errorf("no handler: %+v, want an unknown result", r)
	}
}

func TestGRPC(t *testing.T) {
	serve := func(register func(*grpc.Server)) int {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := grpc.NewServer()
		register(s)
		go func() { _ = s.Serve(l) }()
		t.Cleanup(s.Stop)
		return l.Addr().(*net.TCPAddr).Port
	}
	h := health.NewServer()
	h.SetServingStatus("unhealthy", healthpb.HealthCheckResponse_NOT_SERVING)
	healthy, withoutHealth := serve(func(s *grpc.Server) { healthpb.RegisterHealthServer(s, h) }), serve(func(*grpc.Server) {})
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections but does not respond
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, tc := range map[string]struct {
		port    int
		service string
		want    string // part of the message, "" for success
	}{
		"serving":            {healthy, "", ""},
		"not serving":        {healthy, "unhealthy", `service unhealthy (responded with "NOT_SERVING")`},
		"unknown":            {healthy, "other", "error: health rpc failed: "},
		"no protocol":        {withoutHealth, "", "error: this server does not implement the grpc health protocol (grpc.health.v1.Health)"},
		"connection refused": {1, "", `timeout: failed to connect service "127.0.0.1:1" within 200ms`},
		"no response":        {silent.Addr().(*net.TCPAddr).Port, "", "timeout: "},
	} {
		limit := 10 * time.Second
		if name == "no response" {
			limit = 200 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		r := probeGRPC(ctx, "127.0.0.1", tc.port, tc.service, 200*time.Millisecond)
		cancel()
		if (r.outcome == success) != (tc.want == "") || !strings.Contains(r.message, tc.want) {
			t.Errorf("%s: %+v, want %q", name, r, tc.want)
		}
	}
}

func TestExec(t *testing.T) {
	for name, tc := range map[string]struct {
		code   int
		output string
		err    error
		want   result
	}{
		"0":                 {want: result{success, ""}},
		"with output":       {output: "fine", want: result{success, ""}},
		"1":                 {code: 1, output: "not ready", want: result{failure, "not ready"}},
		"long":              {code: 1, output: strings.Repeat("x", 20<<10), want: result{failure, strings.Repeat("x", 10<<10)}},
		"timeout":           {err: context.DeadlineExceeded, want: result{failure, `command timed out: "check the state" timed out after 3s`}},
		"runtime's timeout": {err: status.Error(codes.DeadlineExceeded, "x"), want: result{failure, `command timed out: "check the state" timed out after 3s`}},
		"no runtime":        {err: errors.New("unavailable"), want: result{unknown, "unavailable"}},
	} {
		p := New(Options{Exec: func(_ context.Context, id string, command []string, timeout time.Duration) (int, string, error) {
			if id != "c1" || len(command) != 3 || timeout != 3*time.Second {
				t.Errorf("Exec(%q, %q, %v), want container c1, 3 words and 3 s", id, command, timeout)
			}
			return tc.code, tc.output, tc.err
		}})
		spec := &corev1.Probe{TimeoutSeconds: 3, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"check", "the", "state"}}}}
		if r := p.runProbe(t.Context(), &Target{ID: "c1"}, spec); r != tc.want {
			t.Errorf("%s: %+v, want %+v", name, r, tc.want)
		}
	}
}
