package apiserver

import (
	"fmt"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// serveOpenAPIv2 serves /openapi/v2 with a document of all routes of the server. The first request builds the document,
// because it takes 0.1 s and 16 MB, and current clients request only /openapi/v3.
func serveOpenAPIv2(server *genericapiserver.GenericAPIServer, config *common.Config) {
	document := cached.Once(cached.Func(func() (*spec.Swagger, string, error) {
		swagger, err := builder.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(server.Handler.GoRestfulContainer.RegisteredWebServices()), config)
		if err != nil {
			return nil, "", fmt.Errorf("building the OpenAPI v2 document: %w", err)
		}
		swagger.Definitions = handler.PruneDefaults(swagger.Definitions)
		return swagger, "built-in", nil
	}))
	handler.NewOpenAPIServiceLazy(document).RegisterOpenAPIVersionedService("/openapi/v2", server.Handler.NonGoRestfulMux)
}
