package ui

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// clusterPaths matches the paths of the API server that the page reads.
var clusterPaths = regexp.MustCompile(`^/(api/v1/nodes|api/v1/(namespaces/[a-z0-9-]+/)?pods|apis/policy/v1/(namespaces/[a-z0-9-]+/)?poddisruptionbudgets)$`)

// serveCluster forwards a list or watch to the API server, with the user's credentials and no other header of the
// request, and returns its JSON. A watch counts as a stream.
func (s *Server) serveCluster(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	path := strings.TrimPrefix(r.URL.Path, "/ui/cluster")
	if !clusterPaths.MatchString(path) {
		writeError(w, http.StatusNotFound, "path: must be a list of nodes, pods or poddisruptionbudgets")
		return
	}
	watch, values := false, r.URL.Query()["watch"]
	if err := runtime.Convert_Slice_string_To_bool(&values, &watch, nil); err != nil {
		writeError(w, http.StatusBadRequest, "watch: "+err.Error())
		return
	}
	if watch {
		user, err := userOf(r.Context(), config)
		if err != nil {
			writeFailure(w, err)
			return
		}
		release := s.streams.acquire(user.Username)
		if release == nil {
			writeError(w, http.StatusTooManyRequests, tooManyStreams)
			return
		}
		defer release()
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		writeFailure(w, err)
		return
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		writeFailure(w, err)
		return
	}
	proxy := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1, // sends each event of a watch at once
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL = &url.URL{Scheme: base.Scheme, Host: base.Host, Path: strings.TrimSuffix(base.Path, "/") + path, RawQuery: p.In.URL.RawQuery}
			p.Out.Host = base.Host
			p.Out.Header = http.Header{"Accept": {"application/json"}}
		},
		ModifyResponse: func(resp *http.Response) error {
			header := http.Header{}
			if resp.StatusCode < http.StatusMultipleChoices || resp.StatusCode >= http.StatusBadRequest {
				header.Set("Content-Type", "application/json")
			}
			resp.Header = header
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { writeFailure(w, err) },
	}
	proxy.ServeHTTP(w, r)
}
