package apiserver_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
)

// extensionServer responds like an aggregated API server of group ext.example.com: discovery, and
// the identity of the caller.
func extensionServer(w http.ResponseWriter, r *http.Request) {
	var response any
	switch r.URL.Path {
	case "/apis/ext.example.com/v1":
		response = metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "ext.example.com/v1",
			APIResources: []metav1.APIResource{{Name: "callers", SingularName: "caller", Kind: "Caller", Verbs: []string{"get"}}}}
	case "/apis/ext.example.com/v1/callers/me":
		response = map[string]any{"proxy": r.TLS.PeerCertificates[0].Subject.CommonName, "user": r.Header.Get("X-Remote-User"), "authorization": r.Header.Get("Authorization")}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(response)
}

// TestAPIServiceForwardsRequests checks that an APIService becomes available with its Service. The aggregator
// forwards requests with its own certificate and the user in headers, and discovery lists the group.
func TestAPIServiceForwardsRequests(t *testing.T) {
	server := start(t)
	client := clientset(t, server.LoopbackConfig())
	services := apiregistration.NewForConfigOrDie(server.LoopbackConfig()).ApiregistrationV1().APIServices()
	apiService := &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: "v1.ext.example.com"}, Spec: apiregistrationv1.APIServiceSpec{
		Group: "ext.example.com", Version: "v1", GroupPriorityMinimum: 100, VersionPriority: 100, CABundle: server.Authority().CAPEM(),
		Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "hook"},
	}}
	if _, err := services.Create(t.Context(), apiService, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	condition := func(status apiregistrationv1.ConditionStatus, reason string) func(context.Context) error {
		return func(ctx context.Context) error {
			current, err := services.Get(ctx, apiService.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if c := current.Status.Conditions; len(c) != 1 || c[0].Status != status || c[0].Reason != reason {
				return fmt.Errorf("got conditions %+v, want status %s with reason %s", c, status, reason)
			}
			return nil
		}
	}
	eventually(t, "without a Service", condition(apiregistrationv1.ConditionFalse, "ServiceNotFound"))
	_, err := client.Discovery().RESTClient().Get().AbsPath("/apis/ext.example.com/v1/callers/me").DoRaw(t.Context())
	if !apierrors.IsServiceUnavailable(err) {
		t.Errorf("request for an unavailable APIService: got %v, want 503", err)
	}
	serveWebhook(t, server, client, extensionServer)
	eventually(t, "with a Service", condition(apiregistrationv1.ConditionTrue, "Passed"))
	eventually(t, "a forwarded request", func(ctx context.Context) error {
		data, err := client.Discovery().RESTClient().Get().AbsPath("/apis/ext.example.com/v1/callers/me").DoRaw(ctx)
		if err != nil {
			return err
		}
		if want := `{"authorization":"","proxy":"front-proxy-client","user":"system:apiserver"}`; strings.TrimSpace(string(data)) != want {
			return fmt.Errorf("got %s, want %s", data, want)
		}
		return nil
	})
	eventually(t, "discovery", func(context.Context) error {
		list, err := client.Discovery().ServerResourcesForGroupVersion("ext.example.com/v1")
		if err == nil && len(list.APIResources) != 1 {
			err = fmt.Errorf("got resources %+v, want 1", list.APIResources)
		}
		return err
	})
	// Other API servers verify the proxy with the CA in this ConfigMap.
	published, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	verifyFrontProxy(t, server, published.Data["requestheader-client-ca-file"])
}

// verifyFrontProxy checks that the CA verifies the certificate of the proxy.
func verifyFrontProxy(t *testing.T, server testServer, ca string) {
	t.Helper()
	files, err := server.Authority().FrontProxy()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(files.CertFile, files.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ca))
	options := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := pair.Leaf.Verify(options); err != nil {
		t.Errorf("the published CA does not verify the certificate of the proxy: %v", err)
	}
}
