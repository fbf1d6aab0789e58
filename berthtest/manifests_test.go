package berthtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/berthproject/berth/berthtest"
)

func TestCustomResourceIsServed(t *testing.T) {
	c := berthtest.Start(t, berthtest.Nodes(0), berthtest.CRDs("../examples/widget-crd.yaml"))
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	widgets := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}).Namespace("default")
	widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w"}, "spec": map[string]any{"color": "red", "replicas": int64(9)}}}
	if _, err := widgets.Create(t.Context(), widget, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "replicas exceed max") {
		t.Errorf("creating an invalid widget: %v, want an error about replicas", err)
	}
}

func TestWebhookIsCalled(t *testing.T) {
	c := berthtest.Start(t, berthtest.Nodes(0), berthtest.Webhooks("testdata"))
	mux := http.NewServeMux()
	mux.HandleFunc("/validate", func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: review.Request.Name != "forbidden",
			Result: &metav1.Status{Message: "this name is forbidden"}}
		_ = json.NewEncoder(w).Encode(review)
	})
	server := &http.Server{Addr: fmt.Sprintf("%s:%d", c.Webhook.Host, c.Webhook.Port), Handler: mux}
	go func() {
		_ = server.ListenAndServeTLS(filepath.Join(c.Webhook.CertDir, "tls.crt"), filepath.Join(c.Webhook.CertDir, "tls.key"))
	}()
	t.Cleanup(func() { _ = server.Close() })
	create := func(name string) error {
		_, err := c.Client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
	c.Eventually("the webhook rejects the name", func(context.Context) error {
		if err := create("forbidden"); err == nil || !strings.Contains(err.Error(), "this name is forbidden") {
			return fmt.Errorf("creating the forbidden name: %w", err)
		}
		return nil
	})
	if err := create("allowed"); err != nil {
		t.Error(err)
	}
}
