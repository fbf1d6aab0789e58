package customresources

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/kube-aggregator/pkg/controllers/openapiv3/aggregator"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
)

const openAPIv3Path = "/openapi/v3"

// maxDocuments is the maximum number of cached documents. Most clients request few.
const maxDocuments = 16

// ServeOpenAPIv3 replaces the handler of /openapi/v3 of a server that is prepared and not running. The new handler
// builds a document when it is requested. The library's handler builds the documents of all definitions at each change.
func ServeOpenAPIv3(server *extensions.CustomResourceDefinitions) error {
	generic := server.GenericAPIServer
	paths := generic.Handler.NonGoRestfulMux
	downloader := aggregator.NewDownloader()
	static, _, err := downloader.OpenAPIV3Root(paths)
	if err != nil {
		return fmt.Errorf("list of OpenAPI documents of CustomResourceDefinitions: %w", err)
	}
	documents := newOpenAPIv3(generic.OpenAPIV3VersionedService, static.Paths, server.Informers.Apiextensions().V1().CustomResourceDefinitions().Lister())
	generic.OpenAPIV3VersionedService = nil // otherwise the library starts its controller, which builds all documents
	paths.Unregister(openAPIv3Path)
	paths.Unregister(openAPIv3Path + "/")
	paths.Handle(openAPIv3Path, http.HandlerFunc(documents.serveList))
	paths.HandlePrefix(openAPIv3Path+"/", http.HandlerFunc(documents.serveDocument))
	return nil
}

// openAPIv3 serves the documents of custom resources.
type openAPIv3 struct {
	static      http.HandlerFunc // documents of CustomResourceDefinition itself
	staticPaths map[string]handler3.OpenAPIV3DiscoveryGroupVersion
	definitions listers.CustomResourceDefinitionLister
	// program is part of the hashes: another version of the server may build another document of the same definitions.
	program string

	mu        sync.Mutex // also held while a document is built, so that one is built at a time
	documents []document // the most recently used one is the last
}

// document is a built document.
type document struct {
	path, hash string
	handler    *handler3.OpenAPIService
}

func newOpenAPIv3(static *handler3.OpenAPIService, staticPaths map[string]handler3.OpenAPIV3DiscoveryGroupVersion, definitions listers.CustomResourceDefinitionLister) *openAPIv3 {
	o := &openAPIv3{static: static.HandleGroupVersion, staticPaths: staticPaths, definitions: definitions}
	if info, ok := debug.ReadBuildInfo(); ok {
		o.program = info.String()
	}
	return o
}

// servedDefinitions returns the established definitions by the path of the documents to which they belong, each list
// ordered by name.
func (o *openAPIv3) servedDefinitions() (map[string][]*apiextensionsv1.CustomResourceDefinition, error) {
	list, err := o.definitions.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	byPath := map[string][]*apiextensionsv1.CustomResourceDefinition{}
	for _, d := range list {
		if !apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established) {
			continue
		}
		for _, v := range d.Spec.Versions {
			if v.Served {
				path := "apis/" + d.Spec.Group + "/" + v.Name
				byPath[path] = append(byPath[path], d)
			}
		}
	}
	return byPath, nil
}

// hash returns a hash that changes when the document of definitions may change.
func (o *openAPIv3) hash(definitions []*apiextensionsv1.CustomResourceDefinition) string {
	h := sha256.New()
	_, _ = fmt.Fprintln(h, o.program)
	for _, d := range definitions {
		_, _ = fmt.Fprintln(h, d.UID, d.Generation)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func documentURL(path, hash string) string { return openAPIv3Path + "/" + path + "?hash=" + hash }

// serveList serves the paths and hashes of all documents.
func (o *openAPIv3) serveList(w http.ResponseWriter, r *http.Request) {
	served, err := o.servedDefinitions()
	if err != nil {
		responsewriters.InternalError(w, r, err)
		return
	}
	list := handler3.OpenAPIV3Discovery{Paths: maps.Clone(o.staticPaths)}
	for path, definitions := range served {
		list.Paths[path] = handler3.OpenAPIV3DiscoveryGroupVersion{ServerRelativeURL: documentURL(path, o.hash(definitions))}
	}
	responsewriters.WriteRawJSON(http.StatusOK, list, w)
}

// serveDocument serves a document. The response to a request with the current hash may be cached. serveDocument
// redirects a request with another hash.
func (o *openAPIv3) serveDocument(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, openAPIv3Path+"/")
	served, err := o.servedDefinitions()
	if err != nil {
		responsewriters.InternalError(w, r, err)
		return
	}
	definitions := served[path]
	if _, isStatic := o.staticPaths[path]; isStatic {
		o.static(w, r)
		return
	}
	if len(definitions) == 0 {
		http.NotFound(w, r)
		return
	}
	current := o.hash(definitions)
	switch r.URL.Query().Get("hash") {
	case current:
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", time.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
	case "":
	default:
		http.Redirect(w, r, documentURL(path, current), http.StatusMovedPermanently)
		return
	}
	handler, err := o.document(path, current, definitions)
	if err != nil {
		w.Header().Del("Cache-Control")
		w.Header().Del("Expires")
		responsewriters.InternalError(w, r, fmt.Errorf("building the OpenAPI document of %s: %w", path, err))
		return
	}
	r = r.Clone(r.Context())
	r.URL.RawQuery = "" // the handler expects a hash of the content instead
	handler.HandleGroupVersion(w, r)
}

// document returns the document at a path. It builds the document unless it is cached.
func (o *openAPIv3) document(path, hash string, definitions []*apiextensionsv1.CustomResourceDefinition) (*handler3.OpenAPIService, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.documents, func(d document) bool { return d.path == path })
	if i >= 0 {
		cached := o.documents[i]
		o.documents = slices.Delete(o.documents, i, i+1)
		if cached.hash == hash {
			o.documents = append(o.documents, cached)
			return cached.handler, nil
		}
	}
	handler, err := build(path, definitions)
	if err != nil {
		return nil, err
	}
	if len(o.documents) == maxDocuments {
		o.documents = slices.Delete(o.documents, 0, 1)
	}
	o.documents = append(o.documents, document{path, hash, handler})
	return handler, nil
}

// build builds the document of definitions. A definition whose schema cannot be converted is omitted, as in Kubernetes.
func build(path string, definitions []*apiextensionsv1.CustomResourceDefinition) (*handler3.OpenAPIService, error) {
	version := path[strings.LastIndex(path, "/")+1:]
	var specs []*spec3.OpenAPI
	for _, d := range definitions {
		if spec, err := builder.BuildOpenAPIV3(d, version, builder.Options{IncludeSelectableFields: true}); err == nil {
			specs = append(specs, spec)
		}
	}
	merged, err := builder.MergeSpecsV3(specs...)
	if err != nil {
		return nil, err
	}
	service := handler3.NewOpenAPIService()
	service.UpdateGroupVersion(path, merged)
	return service, nil
}
