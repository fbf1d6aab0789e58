package apiserver_test

import (
	"encoding/json"
	"testing"
)

// TestServersShareOpenAPI checks that a second server of the process serves the documents of the built-in kinds.
func TestServersShareOpenAPI(t *testing.T) {
	t.Parallel()
	var previous string
	for range 2 {
		client := clientset(t, start(t).LoopbackConfig()).Discovery().RESTClient()
		data, err := client.Get().AbsPath("/openapi/v3").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var root struct {
			Paths map[string]struct{ ServerRelativeURL string }
		}
		if err := json.Unmarshal(data, &root); err != nil {
			t.Fatal(err)
		}
		url := root.Paths["apis/apps/v1"].ServerRelativeURL
		document, err := client.Get().RequestURI(url).DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var content struct {
			Paths      map[string]any
			Components struct{ Schemas map[string]any }
		}
		if err := json.Unmarshal(document, &content); err != nil || content.Paths["/apis/apps/v1/deployments"] == nil || content.Components.Schemas["io.k8s.api.apps.v1.Deployment"] == nil {
			t.Errorf("%s: got error %v and %d paths, want the path and the schema of Deployments", url, err, len(content.Paths))
		}
		if previous != "" && url != previous {
			t.Errorf("apis/apps/v1 of the second server: got %s, want %s as of the first", url, previous)
		}
		previous = url
	}
}
