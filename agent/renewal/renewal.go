package renewal

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"os"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/certificate"
)

// Options configures New.
type Options struct {
	// Config has the credential of the node.
	Config *rest.Config
	// Node is the name of the node.
	Node string
	// Dir is the directory of the certificates.
	Dir string
	// Lifetime is requested for new certificates; nil leaves it to the signer.
	Lifetime *time.Duration
}

// Renewal renews the certificates of a node or the client certificate of another component. Its zero value renews
// nothing.
type Renewal struct {
	client, serving certificate.Manager // nil: not renewed
	credential      *tls.Certificate    // client certificate of Options.Config
	clientName      string              // name of a component's certificate, for metrics
	// mayStart blocks until the renewal of client may start, and returns false when its context ends; nil: at once.
	mayStart func(context.Context) bool
}

// subject returns the subject of the certificates of a node.
func subject(node string) pkix.Name {
	return pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}
}

// New prepares the renewal. It returns a configuration whose credential is renewed, or o.Config if its credential is
// not a certificate of the node. Start starts the renewal.
func New(ctx context.Context, o Options) (*Renewal, *rest.Config, error) {
	config := rest.CopyConfig(o.Config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, nil, fmt.Errorf("node %s: loading credentials: %w", o.Node, err)
	}
	r := &Renewal{}
	if len(config.CertData) == 0 || len(config.KeyData) == 0 {
		return r, o.Config, nil
	}
	pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		return nil, nil, fmt.Errorf("node %s: credential: %w", o.Node, err)
	}
	if s := pair.Leaf.Subject; s.CommonName != subject(o.Node).CommonName || !slices.Equal(s.Organization, subject(o.Node).Organization) {
		return r, o.Config, nil
	}
	r.credential = &pair
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("node %s: directory of certificates: %w", o.Node, err)
	}
	store, err := openStore(o.Dir, "kubelet-client", config)
	if err != nil {
		return nil, nil, fmt.Errorf("node %s: certificates in %s: %w", o.Node, o.Dir, err)
	}
	// The client reads the file again when it changes.
	config.CertData, config.KeyData, config.CertFile, config.KeyFile = nil, nil, store.CurrentPath(), store.CurrentPath()
	clients := func(*tls.Certificate) (kubernetes.Interface, error) { return kubernetes.NewForConfig(config) }
	r.client, err = certificate.NewManager(&certificate.Config{
		Ctx: &ctx, Name: "kubelet-client", ClientsetFn: clients, CertificateStore: store, RequestedCertificateLifetime: o.Lifetime,
		SignerName:  certificatesv1.KubeAPIServerClientKubeletSignerName,
		GetTemplate: func() *x509.CertificateRequest { return &x509.CertificateRequest{Subject: subject(o.Node)} },
		Usages:      []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
	})
	if err == nil && isServing(&pair) {
		err = r.addServing(ctx, o, clients)
	}
	return r, config, err
}

func (r *Renewal) addServing(ctx context.Context, o Options, clients certificate.ClientsetFunc) error {
	store, err := certificate.NewFileStore("kubelet-server", o.Dir, o.Dir, "", "")
	if err != nil {
		return err
	}
	r.serving, err = certificate.NewManager(&certificate.Config{
		Ctx: &ctx, Name: "kubelet-server", ClientsetFn: clients, CertificateStore: store, RequestedCertificateLifetime: o.Lifetime,
		SignerName:  certificatesv1.KubeletServingSignerName,
		GetTemplate: func() *x509.CertificateRequest { return servingTemplate(o.Node) },
		Usages:      []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
	})
	return err
}

// servingTemplate returns the request for a serving certificate. It contains no IP addresses: the agents and the API
// server on a machine share one, and requests for a shared address are not approved. The API server verifies the subject.
func servingTemplate(node string) *x509.CertificateRequest {
	return &x509.CertificateRequest{Subject: subject(node), DNSNames: []string{node}}
}

func isServing(c *tls.Certificate) bool {
	return slices.Contains(c.Leaf.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
}

// Start renews the certificates in the background until the context of New is done. The credential is the serving
// certificate until 70 to 90 % of its lifetime have passed.
func (r *Renewal) Start(ctx context.Context) {
	switch {
	case r.client == nil:
	case r.mayStart == nil:
		r.client.Start()
	default:
		go func() {
			if r.mayStart(ctx) {
				r.client.Start()
			}
		}()
	}
	if r.serving == nil {
		return
	}
	go func() {
		if r.serving.Current() == nil {
			leaf := r.credential.Leaf
			lifetime := leaf.NotAfter.Sub(leaf.NotBefore)
			select {
			case <-time.After(time.Until(leaf.NotBefore.Add(wait.Jitter(lifetime/10*7, 0.2/0.7)))):
			case <-ctx.Done():
				return
			}
		}
		r.serving.Start()
	}()
}

// Serving returns the current serving certificate, or nil if the fallback certificate must be used.
func (r *Renewal) Serving() *tls.Certificate {
	if r.serving == nil {
		return nil
	}
	return r.serving.Current()
}

// Client returns the current client certificate, or nil if it is not renewed.
func (r *Renewal) Client() *tls.Certificate {
	if r.client == nil {
		return nil
	}
	return r.client.Current()
}
