package apiserver

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/kube-aggregator/pkg/controllers/openapiv3/aggregator"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/handler3"
)

const openAPIv3Path = "/openapi/v3"

// openAPIv3 serves /openapi/v3 with a document for each group and version. It builds a document at the
// first request for it. Most clients request few documents. The aggregator requests the list every second;
// with the hashes of the contents in this list, the server would build all documents during the start.
type openAPIv3 struct {
	container *restful.Container
	config    *common.OpenAPIV3Config
	// hashOfUnbuilt is the hash that the list has for documents that are not built yet. The response to a
	// request with this hash must not be cached by its URL. Each start of the server uses a new hash: clients
	// cache documents by their hash, and another version of Berth may have other documents.
	hashOfUnbuilt string

	building  sync.Mutex                    // held while a document is built; locked before mu
	mu        sync.Mutex                    // guards documents
	documents map[string]*openAPIv3Document // by path, such as apis/apps/v1
}

// openAPIv3Document is a document that was built.
type openAPIv3Document struct {
	handler http.Handler
	url     string // URL with the hash of the content
}

// newOpenAPIv3 returns a handler for the documents of the routes of a container.
func newOpenAPIv3(container *restful.Container, config *common.OpenAPIV3Config) *openAPIv3 {
	return &openAPIv3{container: container, config: config, hashOfUnbuilt: "unbuilt-" + rand.Text(), documents: map[string]*openAPIv3Document{}}
}

func (o *openAPIv3) register(paths *mux.PathRecorderMux) {
	paths.Handle(openAPIv3Path, http.HandlerFunc(o.serveList))
	paths.HandlePrefix(openAPIv3Path+"/", http.HandlerFunc(o.serveDocument))
}

// serveList serves the paths and hashes of all documents.
func (o *openAPIv3) serveList(w http.ResponseWriter, _ *http.Request) {
	list := handler3.OpenAPIV3Discovery{Paths: map[string]handler3.OpenAPIV3DiscoveryGroupVersion{}}
	for _, service := range o.container.RegisteredWebServices() {
		path := documentPath(service)
		url := openAPIv3Path + "/" + path + "?hash=" + o.hashOfUnbuilt
		if d := o.builtDocument(path); d != nil {
			url = d.url
		}
		list.Paths[path] = handler3.OpenAPIV3DiscoveryGroupVersion{ServerRelativeURL: url}
	}
	responsewriters.WriteRawJSON(http.StatusOK, list, w)
}

func (o *openAPIv3) serveDocument(w http.ResponseWriter, r *http.Request) {
	d, err := o.document(strings.TrimPrefix(r.URL.Path, openAPIv3Path+"/"))
	switch {
	case err != nil:
		responsewriters.InternalError(w, r, err)
	case d == nil:
		http.NotFound(w, r)
	default:
		if r.URL.Query().Get("hash") == o.hashOfUnbuilt {
			r = r.Clone(r.Context())
			r.URL.RawQuery = ""
		}
		d.handler.ServeHTTP(w, r)
	}
}

// document returns the document of a path. It returns nil if there is none.
func (o *openAPIv3) document(path string) (*openAPIv3Document, error) {
	if d := o.builtDocument(path); d != nil {
		return d, nil
	}
	o.building.Lock()
	defer o.building.Unlock()
	if d := o.builtDocument(path); d != nil { // another request has built it
		return d, nil
	}
	for _, service := range o.container.RegisteredWebServices() {
		if documentPath(service) != path {
			continue
		}
		d, err := buildOpenAPIv3(service, o.config)
		if err != nil {
			return nil, fmt.Errorf("building the OpenAPI document of %s: %w", path, err)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.documents[path] = d
		return d, nil
	}
	return nil, nil
}

// builtDocument returns the document of a path if it is built, and nil otherwise.
func (o *openAPIv3) builtDocument(path string) *openAPIv3Document {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.documents[path]
}

func buildOpenAPIv3(service *restful.WebService, config *common.OpenAPIV3Config) (*openAPIv3Document, error) {
	container, paths := restful.NewContainer(), mux.NewPathRecorderMux("openapi")
	container.Add(service)
	routes.OpenAPI{V3Config: config}.InstallV3(container, paths)
	downloader := aggregator.NewDownloader()
	list, _, err := downloader.OpenAPIV3Root(paths)
	if err != nil {
		return nil, err
	}
	listed, ok := list.Paths[documentPath(service)]
	if !ok {
		return nil, errors.New("the library built none; the server's log has the reason")
	}
	return &openAPIv3Document{handler: paths, url: listed.ServerRelativeURL}, nil
}

func documentPath(service *restful.WebService) string {
	return strings.TrimPrefix(service.RootPath(), "/")
}
