package apiserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// TestOpenAPIv3 checks that the list of documents builds none and is served while one is built. The hash in the list
// becomes that of the content.
func TestOpenAPIv3(t *testing.T) {
	const path = "apis/example.com/v1"
	container, paths := restful.NewContainer(), mux.NewPathRecorderMux("test")
	service := new(restful.WebService).Path("/" + path)
	service.Route(service.GET("/widgets").Operation("listWidgets").Returns(http.StatusOK, "OK", "").To(func(*restful.Request, *restful.Response) {}))
	container.Add(service)
	built, duringBuild := 0, func() {}
	config := &common.OpenAPIV3Config{Info: &spec.Info{}, GetDefinitions: func(common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		built++
		duringBuild()
		return nil
	}}
	newOpenAPIv3(container, config).register(paths)
	get := func(url string) *httptest.ResponseRecorder {
		t.Helper()
		response := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, url, nil)
		request.Header.Set("Accept", "application/json")
		paths.ServeHTTP(response, request)
		return response
	}
	listedURL := func() string {
		t.Helper()
		var list handler3.OpenAPIV3Discovery
		if err := json.Unmarshal(get("/openapi/v3").Body.Bytes(), &list); err != nil || len(list.Paths) != 1 {
			t.Fatalf("list: got %v, %v, want one path", list.Paths, err)
		}
		return list.Paths[path].ServerRelativeURL
	}

	first := listedURL()
	if built != 0 {
		t.Errorf("the list built %d documents", built)
	}
	duringBuild = func() {
		if listed := listedURL(); listed != first {
			t.Errorf("the list during the build has %s, want %s", listed, first)
		}
	}
	if r := get(first); r.Code != http.StatusOK || !strings.Contains(r.Body.String(), "listWidgets") || r.Header().Get("Cache-Control") != "" {
		t.Errorf("%s: got status %d, Cache-Control %q and %s, want the document, not to be cached", first, r.Code, r.Header().Get("Cache-Control"), r.Body)
	}
	second := listedURL()
	if r := get(second); second == first || r.Code != http.StatusOK || !strings.Contains(r.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("%s after %s: got status %d and Cache-Control %q, want another URL with an immutable document", second, first, r.Code, r.Header().Get("Cache-Control"))
	}
	if r := get("/openapi/v3/" + path + "?hash=other"); r.Code != http.StatusMovedPermanently || r.Header().Get("Location") != second {
		t.Errorf("outdated hash: got status %d and location %q, want a redirect to %s", r.Code, r.Header().Get("Location"), second)
	}
	if built != 1 {
		t.Errorf("the document was built %d times, want once", built)
	}
	if r := get("/openapi/v3/apis/absent/v1"); r.Code != http.StatusNotFound {
		t.Errorf("absent document: got status %d, want 404", r.Code)
	}
}

// TestOpenAPIv3HashOfAnotherStart checks that the hash of a document that another process had not built is outdated.
func TestOpenAPIv3HashOfAnotherStart(t *testing.T) {
	a, b := newOpenAPIv3(restful.NewContainer(), nil), newOpenAPIv3(restful.NewContainer(), nil)
	if a.hashOfUnbuilt == b.hashOfUnbuilt {
		t.Errorf("two starts have the hash %s, want different ones", a.hashOfUnbuilt)
	}
}
