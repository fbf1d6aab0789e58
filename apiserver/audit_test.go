package apiserver_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	auditoptions "k8s.io/apiserver/pkg/server/options"

	"github.com/berthproject/berth/apiserver"
)

// TestAuditLogHasAnnotations checks that requests are recorded with the annotations of admission.
func TestAuditLogHasAnnotations(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	policy := writeFile(t, "policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n  resources: [{group: \"\", resources: [pods]}]\n- level: None\n")
	server := start(t, withoutServiceAccounts, func(o *apiserver.Options) { o.Audit.PolicyFile, o.Audit.LogOptions.Path = policy, log })
	if _, err := clientset(t, server.LoopbackConfig()).CoreV1().Pods("default").Create(t.Context(), hostPathPod("p"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	server.stop()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"verb":"create"`, `"objectRef":{"resource":"pods","namespace":"default","name":"p"`, `"pod-security.kubernetes.io/enforce-policy":"privileged:latest"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the audit log does not contain %s:\n%s", want, data)
		}
	}
	if strings.Contains(string(data), `"resource":"namespaces"`) {
		t.Error("the audit log contains requests that the policy excludes")
	}
}

// TestAuditWebhookReceivesEvents checks that the webhook backend sends an event before the response in the mode
// blocking. An error of the webhook does not fail the request.
func TestAuditWebhookReceivesEvents(t *testing.T) {
	var mu sync.Mutex
	var failing bool
	var received []auditv1.Event
	webhook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var events auditv1.EventList
		if err := json.NewDecoder(r.Body).Decode(&events); err != nil {
			t.Errorf("request of the audit backend: %v", err)
		}
		received = append(received, events.Items...)
		if failing {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(webhook.Close)
	policy := writeFile(t, "policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n- level: RequestResponse\n  resources: [{group: \"\", resources: [configmaps]}]\n  namespaces: [default]\n- level: None\n")
	kubeconfig := writeFile(t, "webhook.yaml", "apiVersion: v1\nkind: Config\nclusters: [{name: w, cluster: {server: "+webhook.URL+"/events}}]\nusers: [{name: u}]\ncontexts: [{name: c, context: {cluster: w, user: u}}]\ncurrent-context: c\n")
	server := start(t, withoutServiceAccounts, func(o *apiserver.Options) {
		o.Audit.PolicyFile, o.Audit.WebhookOptions.ConfigFile, o.Audit.WebhookOptions.BatchOptions.Mode = policy, kubeconfig, auditoptions.ModeBlocking
	})
	maps := clientset(t, server.LoopbackConfig()).CoreV1().ConfigMaps("default")
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Data: map[string]string{"a": "b"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	if len(received) != 1 || received[0].Verb != "create" || received[0].Stage != auditv1.StageResponseComplete || received[0].ObjectRef == nil || received[0].ObjectRef.Name != "m" ||
		received[0].RequestObject == nil || !bytes.Contains(received[0].RequestObject.Raw, []byte(`"a":"b"`)) {
		t.Errorf("events at the webhook after the response: got %+v, want the creation of ConfigMap m with its content", received)
	}
	received, failing = nil, true
	mu.Unlock()
	if err := maps.Delete(t.Context(), "m", metav1.DeleteOptions{}); err != nil {
		t.Errorf("request while the webhook fails: got error %v, want none", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(received) != 1 || received[0].Verb != "delete" {
		t.Errorf("events at the failing webhook: got %+v, want the deletion", received)
	}
}
