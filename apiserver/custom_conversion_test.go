package apiserver_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/berthproject/berth/apiserver"
)

const convertedDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: lamps, singular: lamp, kind: Lamp}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: URL}}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {brightness: {type: integer}}}}
  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {level: {type: integer}}}}
`

// convertLamp renames brightness to level and back.
func convertLamp(w http.ResponseWriter, r *http.Request) {
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		var lamp map[string]any
		_ = json.Unmarshal(raw.Raw, &lamp)
		lamp["apiVersion"] = review.Request.DesiredAPIVersion
		for from, to := range map[string]string{"brightness": "level", "level": "brightness"} {
			if value, ok := lamp[from]; ok && strings.HasSuffix(review.Request.DesiredAPIVersion, "v1beta1") == (to == "level") {
				delete(lamp, from)
				lamp[to] = value
			}
		}
		data, _ := json.Marshal(lamp)
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Raw: data})
	}
	_ = json.NewEncoder(w).Encode(review)
}

// TestWebhookConvertsCustomResources checks that a conversion webhook converts between versions. Definitions,
// objects and their groups remain after a restart.
func TestWebhookConvertsCustomResources(t *testing.T) {
	dir := t.TempDir()
	server := start(t, func(o *apiserver.Options) { o.DataDir = dir })
	webhook := httptest.NewTLSServer(http.HandlerFunc(convertLamp))
	defer webhook.Close()
	definition := createDefinition(t, jsonConfig(server), strings.ReplaceAll(convertedDefinition, "URL", webhook.URL))
	definitions := apiextensions.NewForConfigOrDie(jsonConfig(server)).ApiextensionsV1().CustomResourceDefinitions()
	stored, err := definitions.Get(t.Context(), definition.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored.Spec.Conversion.Webhook.ClientConfig.CABundle = certificatePEM(webhook.Certificate().Raw)
	if _, err := definitions.Update(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	newer := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "lamps"}
	older := newer
	older.Version = "v1beta1"
	lamp := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1beta1", "kind": "Lamp", "metadata": map[string]any{"name": "desk"}, "level": int64(7),
	}}
	eventually(t, "creating an object through the webhook", func(ctx context.Context) error {
		_, err := dynamic.NewForConfigOrDie(jsonConfig(server)).Resource(older).Create(ctx, lamp, metav1.CreateOptions{})
		return err
	})
	server.stop()
	server = start(t, func(o *apiserver.Options) { o.DataDir = dir })
	client := dynamic.NewForConfigOrDie(jsonConfig(server))
	for resource, field := range map[schema.GroupVersionResource]string{newer: "brightness", older: "level"} {
		got, err := client.Resource(resource).Get(t.Context(), "desk", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if value, _, _ := unstructured.NestedInt64(got.Object, field); value != 7 {
			t.Errorf("%s: got %v, want %s 7", resource, got.Object, field)
		}
	}
	if _, err := clientset(t, jsonConfig(server)).Discovery().ServerResourcesForGroupVersion("example.com/v1beta1"); err != nil {
		t.Errorf("discovery after a restart: %v, want no error", err)
	}
	webhook.Close()
	_, err = client.Resource(older).Get(t.Context(), "desk", metav1.GetOptions{})
	if err == nil || !strings.Contains(err.Error(), "conversion webhook for example.com/v1") {
		t.Errorf("get with a stopped webhook: got %v, want an error that names the webhook", err)
	}
}

// certificatePEM returns a certificate in PEM form.
func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
