package apiserver

import (
	"net/http"
	"sync"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/kube-openapi/pkg/common"
)

// builtInOpenAPIv3 serves the OpenAPI v3 documents of the built-in kinds. All servers of a process share it: they have
// the same routes, and the documents take 0.2 s of CPU time to build.
var builtInOpenAPIv3 struct {
	once    sync.Once
	handler *mux.PathRecorderMux
}

// serveOpenAPIv3 serves /openapi/v3. The first request of the process builds the documents; the aggregator sends it
// when all routes are installed.
func serveOpenAPIv3(server *genericapiserver.GenericAPIServer, config *common.OpenAPIV3Config) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		builtInOpenAPIv3.once.Do(func() {
			builtInOpenAPIv3.handler = mux.NewPathRecorderMux("openapi-v3")
			routes.OpenAPI{V3Config: config}.InstallV3(server.Handler.GoRestfulContainer, builtInOpenAPIv3.handler)
		})
		builtInOpenAPIv3.handler.ServeHTTP(w, r)
	})
	server.Handler.NonGoRestfulMux.Handle("/openapi/v3", handler)
	server.Handler.NonGoRestfulMux.HandlePrefix("/openapi/v3/", handler)
}
