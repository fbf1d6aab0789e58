package apiserver_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/internal/testkit"
)

// serveAdmission is the handler of a webhook. It rejects objects whose name starts with "bad" and adds a
// label to other objects.
func serveAdmission(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/slow" {
		_, _ = io.Copy(io.Discard, r.Body) // the server detects the end of the connection after the body
		<-r.Context().Done()
		return
	}
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: !strings.HasPrefix(review.Request.Name, "bad")}
	if !response.Allowed {
		response.Result = &metav1.Status{Message: "a bad name", Code: http.StatusForbidden}
	}
	if r.URL.Path == "/mutate" {
		kind := admissionv1.PatchTypeJSONPatch
		response.PatchType, response.Patch = &kind, []byte(`[{"op":"add","path":"/metadata/labels","value":{"by":"webhook"}}]`)
	}
	response.Warnings = []string{"reviewed by the webhook"}
	review.Request, review.Response = nil, response
	_ = json.NewEncoder(w).Encode(review)
}

// serveWebhook serves handler behind the Service default/hook. Its address is only in an
// EndpointSlice.
func serveWebhook(t *testing.T, server testServer, client kubernetes.Interface, handler http.HandlerFunc) admissionregistrationv1.WebhookClientConfig {
	t.Helper()
	address := machineAddress(t)
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := server.Authority().ServingPEM("hook", pki.AltNames{DNS: []string{"hook.default.svc"}})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	hook := httptest.NewUnstartedServer(handler)
	hook.Listener = listener
	hook.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	hook.StartTLS()
	t.Cleanup(func() {
		hook.CloseClientConnections()
		hook.Close()
	})
	port := int32(listener.Addr().(*net.TCPAddr).Port)
	_, err = client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "hook"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443, TargetPort: intstr.FromInt32(port)}}}}, metav1.CreateOptions{})
	if err == nil {
		name := "https"
		_, err = client.DiscoveryV1().EndpointSlices("default").Create(t.Context(), &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Name: "hook", Labels: map[string]string{discoveryv1.LabelServiceName: "hook"}},
			AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}}},
			Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return admissionregistrationv1.WebhookClientConfig{CABundle: server.Authority().CAPEM(),
		Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "hook"}}
}

// machineAddress returns an IPv4 address of this machine that an EndpointSlice may have.
func machineAddress(t *testing.T) string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); ok && network.IP.To4() != nil && network.IP.IsGlobalUnicast() {
			return network.IP.String()
		}
	}
	testkit.SkipOrFail(t, "network", "this machine has only loopback addresses")
	return ""
}

// newWebhook returns a webhook for ConfigMaps of namespaces with the label hook=name.
func newWebhook(name, path string, config admissionregistrationv1.WebhookClientConfig, policy admissionregistrationv1.FailurePolicyType) admissionregistrationv1.ValidatingWebhook {
	none, second := admissionregistrationv1.SideEffectClassNone, int32(1)
	if config.Service != nil {
		service := *config.Service
		service.Path, config.Service = &path, &service
	}
	return admissionregistrationv1.ValidatingWebhook{
		Name: name + ".example.com", ClientConfig: config, FailurePolicy: &policy, SideEffects: &none, TimeoutSeconds: &second, AdmissionReviewVersions: []string{"v1"},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"hook": name}},
		Rules: []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}},
	}
}

// TestWebhooksApplyFailurePolicy checks that webhooks validate and mutate through a Service that the server
// resolves itself. If a webhook is down or slow, its failure policy decides whether requests fail.
func TestWebhooksApplyFailurePolicy(t *testing.T) {
	server := start(t)
	client := clientset(t, server.LoopbackConfig())
	service := serveWebhook(t, server, client, serveAdmission)
	down := "https://127.0.0.1:1/"
	var list []admissionregistrationv1.ValidatingWebhook
	for _, policy := range []admissionregistrationv1.FailurePolicyType{admissionregistrationv1.Fail, admissionregistrationv1.Ignore} {
		suffix := "-" + strings.ToLower(string(policy))
		list = append(list, newWebhook("up"+suffix, "/validate", service, policy), newWebhook("slow"+suffix, "/slow", service, policy),
			newWebhook("down"+suffix, "", admissionregistrationv1.WebhookClientConfig{URL: &down}, policy))
	}
	_, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(),
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "hooks"}, Webhooks: list}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	createMutatingWebhook(t, client, newWebhook("mutate", "/mutate", service, admissionregistrationv1.Fail))
	for _, name := range []string{"up-fail", "up-ignore", "slow-fail", "slow-ignore", "down-fail", "down-ignore", "mutate"} {
		_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"hook": name}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	// The first rejection shows that the server has received the configurations and namespaces.
	eventually(t, "the webhook rejects a bad name", func(ctx context.Context) error {
		_, err := client.CoreV1().ConfigMaps("up-fail").Create(ctx, configMap("bad-"+strconv.FormatInt(time.Now().UnixNano(), 10)), metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), `admission webhook "up-fail.example.com" denied the request: a bad name`) {
			return fmt.Errorf("got %v, want the denial of the webhook", err)
		}
		return nil
	})
	for namespace, want := range map[string]string{
		"up-fail": "", "up-ignore": "", "slow-ignore": "", "down-ignore": "", "mutate": "",
		"slow-fail": `failed calling webhook "slow-fail.example.com"`, "down-fail": "connection refused",
	} {
		created, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), configMap("good"), metav1.CreateOptions{})
		if (want == "") != (err == nil) || err != nil && (!apierrors.IsInternalError(err) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want an error with %q", namespace, err, want)
		}
		if namespace == "mutate" && created.Labels["by"] != "webhook" {
			t.Errorf("got labels %v, want by=webhook", created.Labels)
		}
	}
}

func createMutatingWebhook(t *testing.T, client kubernetes.Interface, w admissionregistrationv1.ValidatingWebhook) {
	t.Helper()
	_, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hooks"}, Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: w.Name, ClientConfig: w.ClientConfig, FailurePolicy: w.FailurePolicy, SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
			AdmissionReviewVersions: w.AdmissionReviewVersions, NamespaceSelector: w.NamespaceSelector, Rules: w.Rules,
		}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
