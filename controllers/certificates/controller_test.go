package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

type fakeSigner struct{ ttl time.Duration }

func (s *fakeSigner) SignRequest(_ *x509.CertificateRequest, _ []x509.ExtKeyUsage, _ x509.KeyUsage, ttl time.Duration) ([]byte, error) {
	s.ttl = ttl
	return []byte("certificate"), nil
}

// newRequest returns a request of a node for itself.
func newRequest(t *testing.T, signer string, usage certificatesv1.KeyUsage, change func(*x509.CertificateRequest)) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}}}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "r", CreationTimestamp: metav1.Now()}, Spec: certificatesv1.CertificateSigningRequestSpec{
		Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: signer,
		Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, usage}, Username: "system:node:n1", Groups: []string{"system:nodes", "system:authenticated"},
	}}
}

func newNode(name string, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return n
}

// reconcile reconciles the request r repeatedly. It returns the result, or nil if the request was removed.
func reconcile(t *testing.T, c *controller, objects ...runtime.Object) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	requests, nodes, services := factory.Certificates().V1().CertificateSigningRequests(), factory.Core().V1().Nodes(), factory.Core().V1().Services()
	slices := factory.Discovery().V1().EndpointSlices()
	c.client, c.requests, c.nodes, c.services, c.slices = client, requests.Lister(), nodes.Lister(), services.Lister(), slices.Lister()
	if c.now == nil {
		c.now = time.Now
	}
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Node:
			_ = nodes.Informer().GetIndexer().Add(o)
		case *corev1.Service:
			_ = services.Informer().GetIndexer().Add(o)
		case *discoveryv1.EndpointSlice:
			_ = slices.Informer().GetIndexer().Add(o)
		case *certificatesv1.CertificateSigningRequest:
			_ = requests.Informer().GetIndexer().Add(o)
		}
	}
	for range 3 {
		if _, err := c.reconcile(t.Context(), "r"); err != nil {
			t.Fatal(err)
		}
		r, err := client.CertificatesV1().CertificateSigningRequests().Get(t.Context(), "r", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = requests.Informer().GetIndexer().Update(r)
	}
	r, _ := requests.Lister().Get("r")
	return r
}

func TestApproval(t *testing.T) {
	const client, serving = certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName
	withNames := func(dns []string, ips ...string) func(*x509.CertificateRequest) {
		return func(r *x509.CertificateRequest) {
			r.DNSNames = dns
			for _, ip := range ips {
				r.IPAddresses = append(r.IPAddresses, net.ParseIP(ip))
			}
		}
	}
	simulated := func(dns []string) func(*x509.CertificateRequest) {
		return func(r *x509.CertificateRequest) {
			r.Subject, r.DNSNames = pkix.Name{CommonName: simulatedNodesUser}, dns
		}
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}, Spec: corev1.ServiceSpec{ClusterIPs: []string{"10.96.0.1"}}}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes", Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.12"}}}}
	// n1 reports names and addresses of other nodes, Services and API servers.
	n1 := newNode("n1", "192.0.2.1", "192.0.2.9", "10.96.0.1", "192.0.2.10", "192.0.2.12", "127.0.0.1", "127.0.0.2", "0.0.0.0",
		"localhost", "api.example.com", "N2", "n1.example.com", "KUBERNETES.DEFAULT.SVC", "web.default.svc.custom.domain")
	cluster := []runtime.Object{n1, newNode("n2", "192.0.2.2", "192.0.2.9", "n1"), service, slice}
	for _, tc := range []struct {
		name   string
		signer string
		usage  certificatesv1.KeyUsage
		change func(*x509.CertificateRequest)
		user   string
		issued bool
	}{
		{"a node for itself", client, certificatesv1.UsageClientAuth, nil, "system:node:n1", true},
		{"a node for another node", client, certificatesv1.UsageClientAuth, nil, "system:node:n2", false},
		{"a user", client, certificatesv1.UsageClientAuth, nil, "jane", false},
		{"another organization", client, certificatesv1.UsageClientAuth, func(r *x509.CertificateRequest) { r.Subject.Organization = []string{"system:masters"} }, "system:node:n1", false},
		{"a client certificate for a server", client, certificatesv1.UsageServerAuth, nil, "system:node:n1", false},
		{"a client certificate with names", client, certificatesv1.UsageClientAuth, withNames([]string{"n1"}), "system:node:n1", false},
		{"another signer", certificatesv1.KubeAPIServerClientSignerName, certificatesv1.UsageClientAuth, nil, "system:node:n1", false},
		{"the names of the node", serving, certificatesv1.UsageServerAuth, withNames([]string{"n1"}, "192.0.2.1"), "system:node:n1", true},
		{"simulated nodes", SimulatedNodesSigner, certificatesv1.UsageServerAuth, simulated(nil), simulatedNodesUser, true},
		{"simulated nodes with a name", SimulatedNodesSigner, certificatesv1.UsageServerAuth, simulated([]string{"kubernetes"}), simulatedNodesUser, false},
		{"simulated nodes for a node", SimulatedNodesSigner, certificatesv1.UsageServerAuth, nil, simulatedNodesUser, false},
		{"a node for simulated nodes", SimulatedNodesSigner, certificatesv1.UsageServerAuth, simulated(nil), "system:node:n1", false},
		{"simulated nodes without server usage", SimulatedNodesSigner, certificatesv1.UsageKeyEncipherment, simulated(nil), simulatedNodesUser, false},
		{"no names", serving, certificatesv1.UsageServerAuth, nil, "system:node:n1", false},
		{"the name of another node", serving, certificatesv1.UsageServerAuth, withNames([]string{"n2"}), "system:node:n1", false},
		{"the address of another node", serving, certificatesv1.UsageServerAuth, withNames(nil, "192.0.2.2"), "system:node:n1", false},
		{"an address that two nodes claim", serving, certificatesv1.UsageServerAuth, withNames(nil, "192.0.2.9"), "system:node:n1", false},
		{"the address of the API server", serving, certificatesv1.UsageServerAuth, withNames(nil, "10.96.0.1"), "system:node:n1", false},
		{"the name of the API server", serving, certificatesv1.UsageServerAuth, withNames([]string{"kubernetes.default.svc"}), "system:node:n1", false},
		{"the name of the API server in upper case", serving, certificatesv1.UsageServerAuth, withNames([]string{"KUBERNETES.DEFAULT.SVC"}), "system:node:n1", false},
		{"a host name of the API server", serving, certificatesv1.UsageServerAuth, withNames([]string{"api.example.com"}), "system:node:n1", false},
		{"the advertised address of the API server", serving, certificatesv1.UsageServerAuth, withNames(nil, "192.0.2.10"), "system:node:n1", false},
		{"the address of another API server", serving, certificatesv1.UsageServerAuth, withNames(nil, "192.0.2.12"), "system:node:n1", false},
		{"localhost", serving, certificatesv1.UsageServerAuth, withNames([]string{"localhost"}), "system:node:n1", false},
		{"a loopback address of the API server", serving, certificatesv1.UsageServerAuth, withNames(nil, "127.0.0.1"), "system:node:n1", false},
		{"another loopback address", serving, certificatesv1.UsageServerAuth, withNames(nil, "127.0.0.2"), "system:node:n1", false},
		{"the unspecified address", serving, certificatesv1.UsageServerAuth, withNames(nil, "0.0.0.0"), "system:node:n1", false},
		{"the name of another node in upper case", serving, certificatesv1.UsageServerAuth, withNames([]string{"N2"}), "system:node:n1", false},
		{"another host name", serving, certificatesv1.UsageServerAuth, withNames([]string{"n1.example.com"}), "system:node:n1", false},
		{"the name of a Service in a custom domain", serving, certificatesv1.UsageServerAuth, withNames([]string{"web.default.svc.custom.domain"}), "system:node:n1", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRequest(t, tc.signer, tc.usage, tc.change)
			r.Spec.Username = tc.user
			if tc.signer == SimulatedNodesSigner {
				r.Spec.Usages = append(r.Spec.Usages, certificatesv1.UsageClientAuth)
			}
			if got := reconcile(t, &controller{signer: &fakeSigner{}, reserved: normalizedSet([]string{"API.example.com", "localhost", "192.0.2.10", "127.0.0.1"})}, append(cluster, r)...); (len(got.Status.Certificate) > 0) != tc.issued {
				t.Errorf("issued is %v, want %v; conditions %v", len(got.Status.Certificate) > 0, tc.issued, got.Status.Conditions)
			}
		})
	}
}

// TestReservedNodeNames checks that a node whose name belongs to the API server or to a Service does not get a
// certificate for it.
func TestReservedNodeNames(t *testing.T) {
	for name, issued := range map[string]bool{"api.example.com": false, "192.0.2.10": false, "kubernetes": false, "kubernetes.default.svc.custom.domain": false,
		"web.default.svc.custom.domain": false, "web.default.svc": false, "x.cluster.local": false, "svc.example.com": true, "n2": true} {
		r := newRequest(t, certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth, func(r *x509.CertificateRequest) {
			r.Subject.CommonName, r.DNSNames = "system:node:"+name, []string{name}
		})
		r.Spec.Username = "system:node:" + name
		c := &controller{signer: &fakeSigner{}, reserved: normalizedSet([]string{"API.example.com", "192.0.2.10"})}
		if got := reconcile(t, c, newNode(name), r); (len(got.Status.Certificate) > 0) != issued {
			t.Errorf("node %s: issued is %v, want %v", name, !issued, issued)
		}
	}
	missing := newRequest(t, certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth, func(r *x509.CertificateRequest) { r.DNSNames = []string{"n1"} })
	if got := reconcile(t, &controller{signer: &fakeSigner{}}, missing); len(got.Status.Certificate) > 0 {
		t.Error("a certificate was issued for node n1, which does not exist, want none")
	}
}

// TestSigningOfApprovedRequests checks that a request that a user approves is signed only if its signer accepts it.
func TestSigningOfApprovedRequests(t *testing.T) {
	approve := func(r *certificatesv1.CertificateSigningRequest) *certificatesv1.CertificateSigningRequest {
		r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, LastUpdateTime: metav1.Now()}}
		return r
	}
	seconds := int32(3600)
	user := approve(newRequest(t, certificatesv1.KubeAPIServerClientSignerName, certificatesv1.UsageClientAuth, func(r *x509.CertificateRequest) { r.Subject = pkix.Name{CommonName: "jane"} }))
	user.Spec.ExpirationSeconds = &seconds
	signer := &fakeSigner{}
	if got := reconcile(t, &controller{signer: signer}, user); len(got.Status.Certificate) == 0 || signer.ttl != time.Hour {
		t.Errorf("certificate %q for %v, want one for an hour", got.Status.Certificate, signer.ttl)
	}
	withOtherUsage := approve(newRequest(t, certificatesv1.KubeAPIServerClientSignerName, certificatesv1.UsageServerAuth, nil))
	if got := reconcile(t, &controller{signer: signer}, withOtherUsage); condition(got, certificatesv1.CertificateFailed) == nil || len(got.Status.Certificate) > 0 {
		t.Errorf("a request with other usages: %+v, want Failed", got.Status)
	}
	withOtherSigner := approve(newRequest(t, "example.com/signer", certificatesv1.UsageServerAuth, nil))
	if got := reconcile(t, &controller{signer: signer}, withOtherSigner); len(got.Status.Certificate) > 0 || len(got.Status.Conditions) != 1 {
		t.Errorf("a request of another signer: %+v, want no certificate and one condition", got.Status)
	}
}

func TestRemoval(t *testing.T) {
	start := time.Now()
	clockAfter := func(d time.Duration) func() time.Time { return func() time.Time { return start.Add(d) } }
	pending := newRequest(t, "example.com/signer", certificatesv1.UsageServerAuth, nil)
	denied := pending.DeepCopy()
	denied.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied, Status: corev1.ConditionTrue, LastUpdateTime: metav1.NewTime(start)}}
	issued := denied.DeepCopy()
	issued.Status.Conditions[0].Type, issued.Status.Certificate = certificatesv1.CertificateApproved, []byte("c")
	for name, tc := range map[string]struct {
		r         *certificatesv1.CertificateSigningRequest
		retention time.Duration
	}{"pending": {pending, 24 * time.Hour}, "denied": {denied, time.Hour}, "issued": {issued, time.Hour}} {
		if reconcile(t, &controller{now: clockAfter(tc.retention - time.Minute)}, tc.r) == nil {
			t.Errorf("%s: removed before %v, want it to exist", name, tc.retention)
		}
		if reconcile(t, &controller{now: clockAfter(tc.retention + time.Minute)}, tc.r) != nil {
			t.Errorf("%s: exists after %v, want it removed", name, tc.retention)
		}
	}
}

// TestApprovalOfComponents checks that a component may renew its own client certificate, without other names or groups.
func TestApprovalOfComponents(t *testing.T) {
	const signer = certificatesv1.KubeAPIServerClientSignerName
	for name, tc := range map[string]struct {
		user, signer string
		change       func(*x509.CertificateRequest)
		approved     bool
	}{
		"itself":          {"system:kube-scheduler", signer, nil, true},
		"other component": {"system:kube-controller-manager", signer, nil, false},
		"with a group":    {"system:kube-scheduler", signer, func(r *x509.CertificateRequest) { r.Subject.Organization = []string{"system:nodes"} }, false},
		"with a DNS name": {"system:kube-scheduler", signer, func(r *x509.CertificateRequest) { r.DNSNames = []string{"kubernetes"} }, false},
		"signer of nodes": {"system:kube-scheduler", certificatesv1.KubeAPIServerClientKubeletSignerName, nil, false},
		"other user":      {"jane", signer, func(r *x509.CertificateRequest) { r.Subject.CommonName = "jane" }, false},
	} {
		r := newRequest(t, tc.signer, certificatesv1.UsageClientAuth, func(r *x509.CertificateRequest) {
			r.Subject = pkix.Name{CommonName: "system:kube-scheduler"}
			if tc.change != nil {
				tc.change(r)
			}
		})
		r.Spec.Username, r.Spec.Groups = tc.user, []string{"system:authenticated"}
		got := reconcile(t, &controller{signer: &fakeSigner{}}, r)
		if approved := len(got.Status.Certificate) > 0; approved != tc.approved {
			t.Errorf("%s: approved and signed %t, want %t: %+v", name, approved, tc.approved, got.Status.Conditions)
		}
	}
}
