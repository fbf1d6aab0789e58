package nodeauth

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/berthproject/berth/apiserver/validation/certificates"
)

// admitCertificate allows a node to request certificates for itself only.
func admitCertificate(node string, a admission.Attributes) error {
	if a.GetOperation() != admission.Create || a.GetSubresource() != "" {
		return forbid(a, "can only create certificate signing requests")
	}
	r, ok := a.GetObject().(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return forbid(a, "unexpected type %T", a.GetObject())
	}
	switch r.Spec.SignerName {
	case certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName:
	default:
		return forbid(a, "can only request certificates of the signers %s and %s", certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName)
	}
	parsed, err := certificates.Parse(r.Spec.Request)
	if err != nil {
		return forbid(a, "unable to parse csr: %v", err)
	}
	if commonName := userPrefix + node; parsed.Subject.CommonName != commonName {
		return forbid(a, "can only create a node CSR with CN=%s", commonName)
	}
	if o := parsed.Subject.Organization; len(o) != 1 || o[0] != user.NodesGroup {
		return forbid(a, "can only create a node CSR with O=%s", user.NodesGroup)
	}
	return nil
}
