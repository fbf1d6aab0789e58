package apiserver

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/filters"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
)

// notFoundHandler is the end of the chain. It serves a plain 404 under /api and /apis, as
// kube-apiserver does for unknown groups, and the list of paths elsewhere. Until all groups are
// registered, it responds with 503 under /apis: a client must not treat a custom resource as missing.
type notFoundHandler struct {
	groups http.Handler
	index  http.Handler
}

func newNotFoundHandler(serializer runtime.NegotiatedSerializer) *notFoundHandler {
	return &notFoundHandler{groups: notfoundhandler.New(serializer, filters.NoMuxAndDiscoveryIncompleteKey), index: http.NotFoundHandler()}
}

// setPaths serves the paths of server under / and for unknown paths. It must be called before the
// server serves.
func (h *notFoundHandler) setPaths(server *genericapiserver.GenericAPIServer) {
	routes.Index{}.Install(server, server.Handler.NonGoRestfulMux)
	h.index = routes.IndexLister{StatusCode: http.StatusNotFound, PathProvider: server}
}

func (h *notFoundHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/apis/") {
		h.groups.ServeHTTP(w, r)
		return
	}
	h.index.ServeHTTP(w, r)
}
