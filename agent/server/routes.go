package server

import (
	"encoding/json"
	"fmt"
	stdlog "log"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// handler serves a request for a node; path values come from the pattern.
type handler func(w http.ResponseWriter, r *http.Request, n *Node)

func (s *Server) registerRoutes() {
	for pattern, h := range map[string]handler{
		"GET /healthz": func(w http.ResponseWriter, _ *http.Request, _ *Node) { fmt.Fprint(w, "ok") },
		"GET /pods":    pods,
		"GET /containerLogs/{namespace}/{pod}/{container}": s.logs,
		"/exec/{namespace}/{pod}/{container}":              s.exec,
		"/exec/{namespace}/{pod}/{uid}/{container}":        s.exec,
		"/attach/{namespace}/{pod}/{container}":            s.attach,
		"/attach/{namespace}/{pod}/{uid}/{container}":      s.attach,
		"/portForward/{namespace}/{pod}":                   s.portForward,
		"/portForward/{namespace}/{pod}/{uid}":             s.portForward,
		"GET /stats/summary":                               s.summary,
		"GET /metrics":                                     s.metrics,
		"GET /metrics/resource":                            s.resourceMetrics,
		"GET /disk":                                        func(w http.ResponseWriter, r *http.Request, n *Node) { serveReport(w, r, n, "disk", n.Disk) },
		"GET /pressure":                                    func(w http.ResponseWriter, r *http.Request, n *Node) { serveReport(w, r, n, "pressure", n.Pressure) },
		"GET /metrics/cadvisor":                            s.containerMetrics,
	} {
		method, path, ok := strings.Cut(pattern, " ")
		if !ok {
			method, path = "", method
		}
		s.mux.HandleFunc(strings.TrimSpace(method+" /nodes/{node}"+path), func(w http.ResponseWriter, r *http.Request) {
			h(w, r, s.nodes[r.PathValue("node")])
		})
	}
}

// ServeHTTP authenticates and authorizes the request, then calls the handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, path := s.nodeOf(r.URL.Path)
	requester, ok, err := s.authn.AuthenticateRequest(r)
	if err != nil || !ok {
		writeError(w, newStatusError(http.StatusUnauthorized, "Unauthorized: a client certificate of the cluster or a bearer token is required"))
		return
	}
	if n == nil {
		writeError(w, newStatusError(http.StatusNotFound, "%s: this agent serves several nodes, use /nodes/NAME/...", r.URL.Path))
		return
	}
	attrs := requiredAttributes(r, path, n)
	switch allowed, err := s.authz.authorizeAny(r.Context(), requester.User, attrs); {
	case err != nil:
		s.opts.Log.Error(err, "Failed to review access", "user", requester.User.GetName(), "attributes", attrs)
		writeError(w, newStatusError(http.StatusInternalServerError, "reviewing access of user %q: %v", requester.User.GetName(), err))
		return
	case !allowed:
		last := attrs[len(attrs)-1]
		writeError(w, newStatusError(http.StatusForbidden, "Forbidden (user=%s, verb=%s, resource=nodes, subresource=%s, node=%s)", requester.User.GetName(), last.verb, last.subresource, last.node))
		return
	}
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawPath = "/nodes/"+n.Name+path, ""
	s.mux.ServeHTTP(w, r)
}

// nodeOf splits a path into the node and the path on that node.
func (s *Server) nodeOf(path string) (*Node, string) {
	if rest, ok := strings.CutPrefix(path, "/nodes/"); ok {
		name, subpath, _ := strings.Cut(rest, "/")
		if n := s.nodes[name]; n != nil {
			return n, "/" + subpath
		}
	}
	if len(s.opts.Nodes) == 1 {
		return s.opts.Nodes[0], path
	}
	return nil, path
}

func pods(w http.ResponseWriter, _ *http.Request, n *Node) {
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{}}
	for _, p := range n.Pods() {
		list.Items = append(list.Items, *p)
	}
	writeJSON(w, list)
}

func writeJSON(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

// debugLogger logs errors of net/http, such as failed TLS handshakes, at a high verbosity.
func debugLogger(log klog.Logger) *stdlog.Logger {
	return stdlog.New(writerFunc(func(p []byte) (int, error) {
		log.V(2).Info("HTTP", "message", strings.TrimSpace(string(p)))
		return len(p), nil
	}), "", 0)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
