package renewal

import (
	"crypto/tls"
	"crypto/x509"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/certificate"
)

// openStore opens the certificates in a directory. The credential of the configuration replaces the stored one if it is
// valid for longer. It also does if the stored one is of another user or another cluster.
func openStore(dir, name string, config *rest.Config) (certificate.FileStore, error) {
	store, err := certificate.NewFileStore(name, dir, dir, "", "")
	if err != nil {
		return nil, err
	}
	configured, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		return nil, err
	}
	if stored, err := store.Current(); err == nil && !stored.Leaf.NotAfter.Before(configured.Leaf.NotAfter) &&
		stored.Leaf.Subject.String() == configured.Leaf.Subject.String() && sameIssuer(stored.Leaf, config.CAData) {
		return store, nil
	}
	_, err = store.Update(config.CertData, config.KeyData)
	return store, err
}

// sameIssuer reports whether a CA of the cluster signed a certificate. It reports true if the configuration has no CA.
func sameIssuer(cert *x509.Certificate, ca []byte) bool {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return true
	}
	_, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: cert.NotBefore, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err == nil
}
