package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/agent/renewal"
	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/localcluster"
)

// certificateCluster is an API server with the certificate controller.
type certificateCluster struct {
	server *apiserver.Server
	admin  kubernetes.Interface
	dir    string
}

func newCertificateCluster(t *testing.T) certificateCluster {
	t.Helper()
	o := apiserver.DefaultOptions()
	o.Listen, o.DataDir = "127.0.0.1:0", t.TempDir()
	server, err := apiserver.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Run(t.Context()) }()
	t.Cleanup(func() { _ = <-ended })
	select {
	case <-server.Ready():
	case err := <-ended:
		t.Fatal(err)
	}
	go func() { _ = localcluster.RunCertificates(t.Context(), server) }()
	return certificateCluster{server, kubernetes.NewForConfigOrDie(server.LoopbackConfig()), o.DataDir}
}

// eventually waits until done returns true. It fails the test after a minute.
func eventually(t *testing.T, condition string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("got no success within a minute, want: %s", condition)
		}
	}
}

// TestNodeRenewsCertificates checks that a node renews certificates that expire soon, and that its client and server
// use the new ones.
func TestNodeRenewsCertificates(t *testing.T) {
	c := newCertificateCluster(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	// Another agent and the API server on the machine have this address.
	addresses := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	if _, err := c.admin.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	node.Status.Addresses = addresses
	if _, err := c.admin.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	expiring, err := pki.Open(c.dir+"/pki", func() time.Time { return time.Now().AddDate(0, -11, 0) })
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := expiring.ClientPEM(pki.Node("n1"))
	if err != nil {
		t.Fatal(err)
	}
	credential := &rest.Config{Host: "https://" + c.server.Address(), TLSClientConfig: rest.TLSClientConfig{CAData: c.server.Authority().CAPEM(), CertData: cert, KeyData: key}}
	dir := t.TempDir()
	r, config, err := renewal.New(t.Context(), renewal.Options{Config: credential, Node: "n1", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	r.Start(t.Context())
	isRenewed := func(pair *tls.Certificate) bool {
		return pair != nil && time.Until(pair.Leaf.NotAfter) > 300*24*time.Hour
	}
	eventually(t, "the client certificate is renewed", func() bool { return isRenewed(r.Client()) })
	eventually(t, "the serving certificate is renewed", func() bool { return isRenewed(r.Serving()) })
	if err := r.Serving().Leaf.VerifyHostname("n1"); err != nil {
		t.Error(err)
	}
	if got, err := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{}); err != nil || got.Name != "n1" {
		t.Errorf("getting the node with its new certificate: got %q, %v, want n1", got.Name, err)
	}
	restarted, _, err := renewal.New(t.Context(), renewal.Options{Config: credential, Node: "n1", Dir: dir})
	if err != nil || !isRenewed(restarted.Client()) || !isRenewed(restarted.Serving()) {
		t.Errorf("after a restart: got error %v or old certificates, want the renewed ones", err)
	}
	asNode := cli.Impersonate(c.server.LoopbackConfig(), "system:node:n1")
	asNode.Impersonate.Groups = []string{"system:nodes", "system:authenticated"}
	nodeClient := kubernetes.NewForConfigOrDie(asNode)
	for _, subject := range []pkix.Name{{CommonName: "system:node:n2", Organization: []string{"system:nodes"}}, {CommonName: "system:node:n1", Organization: []string{"system:masters"}}} {
		_, err := nodeClient.CertificatesV1().CertificateSigningRequests().Create(t.Context(), newRequest(t, "other", certificatesv1.KubeAPIServerClientKubeletSignerName, subject), metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("request of a node for %v: got error %v, want forbidden", subject, err)
		}
	}
}

// TestComponentRenewsCertificate checks that a component with a kubeconfig renews a certificate that expires soon, and
// cannot request one for another user.
func TestComponentRenewsCertificate(t *testing.T) {
	c := newCertificateCluster(t)
	expiring, err := pki.Open(c.dir+"/pki", func() time.Time { return time.Now().AddDate(0, -11, 0) })
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "descheduler.kubeconfig")
	if err := expiring.Kubeconfig(file, "https://"+c.server.Address(), pki.Component("descheduler")); err != nil {
		t.Fatal(err)
	}
	config, r, err := componentConfig(t.Context(), file, "berth-descheduler")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the client certificate is renewed", func() bool {
		pair := r.Client()
		return pair != nil && time.Until(pair.Leaf.NotAfter) > 300*24*time.Hour && pair.Leaf.Subject.CommonName == "system:berth:descheduler"
	})
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("listing nodes with the new certificate: got error %v, want none", err)
	}
	_, restarted, err := componentConfig(t.Context(), file, "berth-descheduler")
	if err != nil || restarted.Client() == nil || !restarted.Client().Leaf.NotAfter.Equal(r.Client().Leaf.NotAfter) {
		t.Errorf("after a restart: got error %v or another certificate, want the renewed one", err)
	}
	registry := prometheus.NewRegistry()
	restarted.RegisterClient(registry)
	if families, err := registry.Gather(); err != nil || len(families) != 2 {
		t.Errorf("metrics: got %v, %v, want the start and the end of the validity", families, err)
	}
}

// TestSimulatedNodesRenewCertificate checks that a process of simulated nodes renews its certificate, and that the API
// server accepts the new one as client and as server.
func TestSimulatedNodesRenewCertificate(t *testing.T) {
	c := newCertificateCluster(t)
	expiring, err := pki.Open(c.dir+"/pki", func() time.Time { return time.Now().AddDate(0, -11, 0) })
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "nodes.kubeconfig")
	if err := expiring.Kubeconfig(file, "https://"+c.server.Address(), pki.SimulatedNodes()); err != nil {
		t.Fatal(err)
	}
	config, r, err := componentConfig(t.Context(), file, "berth-agent")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the certificate is renewed", func() bool {
		pair := r.Client()
		return pair != nil && time.Until(pair.Leaf.NotAfter) > 300*24*time.Hour
	})
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("listing nodes with the new certificate: got error %v, want none", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.server.Authority().CAPEM())
	leaf := r.Client().Leaf
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil || leaf.Subject.CommonName != pki.SimulatedNodes().Name {
		t.Errorf("new certificate as server: got error %v and the subject %v, want that of simulated nodes", err, leaf.Subject)
	}
}

// TestOtherCredentialsAreNotRenewed checks that the credential of another user is used as it is.
func TestOtherCredentialsAreNotRenewed(t *testing.T) {
	dir := t.TempDir()
	authority, err := pki.Open(dir+"/pki", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "kubeconfig")
	if err := authority.Kubeconfig(file, "https://127.0.0.1:1", pki.Admin()); err != nil {
		t.Fatal(err)
	}
	config, r, err := componentConfig(t.Context(), file, "berth-scheduler")
	if err != nil || r.Client() != nil || config.CertFile != "" || len(config.CertData) == 0 {
		t.Errorf("credential of the administrator: got %v, certificate file %q, want no renewal", err, config.CertFile)
	}
	if _, err := os.Stat(file + ".certificates"); !os.IsNotExist(err) {
		t.Errorf("directory of certificates: got %v, want none", err)
	}
}

// newRequest returns a certificate request with a forged username, which the server must replace.
func newRequest(t *testing.T, name, signer string, subject pkix.Name) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: certificatesv1.CertificateSigningRequestSpec{
		Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: signer, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		Username: "forged",
	}}
}

// TestUserCertificate checks that a user's request is signed after its approval, and that approval requires a
// permission.
func TestUserCertificate(t *testing.T) {
	c := newCertificateCluster(t)
	requests := c.admin.CertificatesV1().CertificateSigningRequests()
	created, err := requests.Create(t.Context(), newRequest(t, "jane", certificatesv1.KubeAPIServerClientSignerName, pkix.Name{CommonName: "jane"}), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if created.Spec.Username == "forged" {
		t.Errorf("got spec.username %q of the client, want the authenticated user", created.Spec.Username)
	}
	custom, err := requests.Create(t.Context(), newRequest(t, "custom", "example.com/signer", pkix.Name{CommonName: "jane"}), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	approve := func(client kubernetes.Interface, r *certificatesv1.CertificateSigningRequest) error {
		r.ResourceVersion = ""
		r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
		_, err := client.CertificatesV1().CertificateSigningRequests().UpdateApproval(t.Context(), r.Name, r, metav1.UpdateOptions{})
		return err
	}
	controller := kubernetes.NewForConfigOrDie(cli.Impersonate(c.server.LoopbackConfig(), pki.Component("certificates").Name))
	if err := approve(controller, custom); !apierrors.IsForbidden(err) { // may approve requests of Kubernetes' signers only
		t.Errorf("approval without the permission on the signer: got error %v, want forbidden", err)
	}
	if err := approve(c.admin, created); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the certificate is issued", func() bool {
		r, err := requests.Get(t.Context(), "jane", metav1.GetOptions{})
		return err == nil && len(r.Status.Certificate) > 0
	})
	_, err = requests.Create(t.Context(), newRequest(t, "masters", certificatesv1.KubeAPIServerClientSignerName, pkix.Name{CommonName: "x", Organization: []string{"system:masters"}}), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("certificate of system:masters: got error %v, want forbidden", err)
	}
}
