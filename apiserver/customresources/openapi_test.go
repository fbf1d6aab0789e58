package customresources

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kube-openapi/pkg/handler3"
)

// definition returns an established definition of a kind in group example.com, version v1.
func definition(kind, description string, generation int64) *apiextensionsv1.CustomResourceDefinition {
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: strings.ToLower(kind) + "s", Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List"}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: names.Plural + ".example.com", UID: types.UID(kind), Generation: generation},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: "example.com", Names: names, Scope: apiextensionsv1.NamespaceScoped, Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
			{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Description: description}}},
			{Name: "v0", Served: false},
		}},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: names, Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}},
	}
}

// fixture serves the documents of the definitions in an index.
type fixture struct {
	*openAPIv3
	index cache.Indexer
}

func newFixture() fixture {
	index := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	static := map[string]handler3.OpenAPIV3DiscoveryGroupVersion{"apis/apiextensions.k8s.io/v1": {ServerRelativeURL: "/openapi/v3/apis/apiextensions.k8s.io/v1?hash=1"}}
	return fixture{newOpenAPIv3(handler3.NewOpenAPIService(), static, listers.NewCustomResourceDefinitionLister(index)), index}
}

func get(handler http.HandlerFunc, url string) *httptest.ResponseRecorder {
	response := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, url, nil)
	request.Header.Set("Accept", "application/json")
	handler(response, request)
	return response
}

// list returns the URLs of the documents by path.
func (f fixture) list(t *testing.T) map[string]string {
	t.Helper()
	var list handler3.OpenAPIV3Discovery
	if err := json.Unmarshal(get(f.serveList, "/openapi/v3").Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	urls := map[string]string{}
	for path, v := range list.Paths {
		urls[path] = v.ServerRelativeURL
	}
	return urls
}

// TestDocumentsAreBuiltOnRequest checks that the list builds no document, and that a document has all kinds of its
// group and version. Its URL changes with the definitions.
func TestDocumentsAreBuiltOnRequest(t *testing.T) {
	const path = "apis/example.com/v1"
	f := newFixture()
	pending := definition("Pending", "not established", 1)
	pending.Status.Conditions = nil
	for _, d := range []*apiextensionsv1.CustomResourceDefinition{definition("Widget", "the first text", 1), definition("Gadget", "another kind", 1), pending} {
		_ = f.index.Add(d)
	}
	urls := f.list(t)
	first := urls[path]
	if len(urls) != 2 || first == "" || urls["apis/apiextensions.k8s.io/v1"] == "" || len(f.documents) != 0 {
		t.Errorf("list: got %v and %d documents, want apiextensions.k8s.io/v1 and example.com/v1, and no document", urls, len(f.documents))
	}
	r := get(f.serveDocument, first)
	for _, want := range []string{"the first text", "another kind"} {
		if r.Code != http.StatusOK || !strings.Contains(r.Body.String(), want) {
			t.Errorf("%s: got status %d and %s, want %q in it", first, r.Code, r.Body, want)
		}
	}
	if strings.Contains(r.Body.String(), "not established") || !strings.Contains(r.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("%s: got Cache-Control %q and %s, want an immutable document without the kind Pending", first, r.Header().Get("Cache-Control"), r.Body)
	}
	if r := get(f.serveDocument, "/openapi/v3/"+path); r.Code != http.StatusOK || r.Header().Get("Cache-Control") != "" {
		t.Errorf("without a hash: got status %d and Cache-Control %q, want 200 and none", r.Code, r.Header().Get("Cache-Control"))
	}
	_ = f.index.Update(definition("Widget", "the second text", 2))
	second := f.list(t)[path]
	if r := get(f.serveDocument, first); second == first || r.Code != http.StatusMovedPermanently || r.Header().Get("Location") != second {
		t.Errorf("outdated hash: got status %d and location %q, want a redirect to %s, which differs from %s", r.Code, r.Header().Get("Location"), second, first)
	}
	if r := get(f.serveDocument, second); !strings.Contains(r.Body.String(), "the second text") || strings.Contains(r.Body.String(), "the first text") {
		t.Errorf("%s: got %s, want the second text", second, r.Body)
	}
	for _, absent := range []string{"apis/example.com/v0", "apis/absent/v1"} {
		if r := get(f.serveDocument, "/openapi/v3/"+absent); r.Code != http.StatusNotFound {
			t.Errorf("%s: got status %d, want 404", absent, r.Code)
		}
	}
}

// TestFewDocumentsAreKept checks that the documents that were used least recently are dropped.
func TestFewDocumentsAreKept(t *testing.T) {
	f := newFixture()
	for i := range maxDocuments + 5 {
		d := definition("Widget", "text", 1)
		d.Name, d.UID, d.Spec.Group = fmt.Sprintf("widgets.g%d.example.com", i), types.UID(fmt.Sprint(i)), fmt.Sprintf("g%d.example.com", i)
		_ = f.index.Add(d)
		for _, group := range []string{d.Spec.Group, "g0.example.com"} {
			if r := get(f.serveDocument, "/openapi/v3/apis/"+group+"/v1"); r.Code != http.StatusOK {
				t.Fatalf("%s: got status %d, want 200", group, r.Code)
			}
		}
	}
	if last := f.documents[len(f.documents)-1].path; len(f.documents) != maxDocuments || last != "apis/g0.example.com/v1" {
		t.Errorf("got %d documents, the last is %s, want %d, and g0.example.com, which was requested each time", len(f.documents), last, maxDocuments)
	}
}
