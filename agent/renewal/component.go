package renewal

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/certificate"
	"k8s.io/klog/v2"
)

// ComponentOptions configures NewComponent.
type ComponentOptions struct {
	// Config has the credential of the component.
	Config *rest.Config
	// Name is the label of the certificate in metrics and the prefix of its file.
	Name string
	// Dir is the directory of the certificate; empty: the certificate is not renewed.
	Dir string
	// ServingSigner signs the certificate if it also serves; otherwise the signer is kubernetes.io/kube-apiserver-client.
	ServingSigner string
	// MayRenew reports whether a user may renew its certificate.
	MayRenew func(user string) bool
}

// NewComponent prepares the renewal of a component's client certificate, and returns a configuration that uses the
// renewed certificate. Start starts the renewal. NewComponent returns o.Config, without renewal, in these cases:
//
//   - o.Config has no client certificate.
//   - o.Dir is empty, or NewComponent cannot open it; NewComponent logs the latter.
//   - The certificate has organizations, or MayRenew rejects its user.
func NewComponent(ctx context.Context, o ComponentOptions) (*Renewal, *rest.Config, error) {
	config := rest.CopyConfig(o.Config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, nil, fmt.Errorf("%s: loading credentials: %w", o.Name, err)
	}
	r := &Renewal{clientName: o.Name}
	if len(config.CertData) == 0 || len(config.KeyData) == 0 {
		return r, o.Config, nil
	}
	pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: credential: %w", o.Name, err)
	}
	r.credential = &pair
	user := pair.Leaf.Subject.CommonName
	if o.Dir == "" || len(pair.Leaf.Subject.Organization) > 0 || !o.MayRenew(user) {
		return r, o.Config, nil
	}
	store, err := openComponentStore(o, config)
	if err != nil {
		klog.ErrorS(err, "The client certificate is not renewed; make the directory writable, or replace the kubeconfig before the certificate expires",
			"component", o.Name, "directory", o.Dir, "expires", pair.Leaf.NotAfter)
		return r, o.Config, nil
	}
	// The client reads the files again when they change.
	config.CAData = o.Config.CAData
	config.CertData, config.KeyData, config.CertFile, config.KeyFile = nil, nil, store.CurrentPath(), store.CurrentPath()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", o.Name, err)
	}
	r.mayStart = func(ctx context.Context) bool { return awaitPermission(ctx, client, o.Name) }
	signer, usages := certificatesv1.KubeAPIServerClientSignerName, []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
	if isServing(&pair) {
		signer, usages = o.ServingSigner, append(usages, certificatesv1.UsageServerAuth)
	}
	r.client, err = certificate.NewManager(&certificate.Config{
		Ctx: &ctx, Name: o.Name, CertificateStore: store,
		ClientsetFn: func(*tls.Certificate) (kubernetes.Interface, error) { return kubernetes.NewForConfig(config) },
		SignerName:  signer,
		GetTemplate: func() *x509.CertificateRequest { return &x509.CertificateRequest{Subject: pkix.Name{CommonName: user}} },
		Usages:      usages,
	})
	return r, config, err
}

// openComponentStore opens the directory of the certificate.
func openComponentStore(o ComponentOptions, config *rest.Config) (certificate.FileStore, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	return openStore(o.Dir, o.Name, config)
}

// currentClient returns the client certificate that is in use, whether it is renewed or not.
func (r *Renewal) currentClient() *tls.Certificate {
	if c := r.Client(); c != nil {
		return c
	}
	return r.credential
}

// RegisterClient adds the validity of the client certificate of a component to a registry.
func (r *Renewal) RegisterClient(registry prometheus.Registerer) {
	register(registry, r.clientName, r.currentClient)
}
