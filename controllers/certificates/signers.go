package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// Users and groups in the subject of a request.
const (
	nodePrefix   = "system:node:"
	nodesGroup   = "system:nodes"
	mastersGroup = "system:masters"
)

// SimulatedNodesSigner signs certificates with which a process of simulated nodes both authenticates to the API server and
// serves it.
const SimulatedNodesSigner = "berth.dev/simulated-nodes"

// parse returns the PKCS #10 request of an object, with a verified signature.
func parse(r *certificatesv1.CertificateSigningRequest) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(r.Spec.Request)
	if block == nil {
		return nil, errors.New("spec.request: must be a PEM block")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("spec.request: %w", err)
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("spec.request: %w", err)
	}
	return request, nil
}

// optionalUsages may accompany the usage that a signer requires.
var optionalUsages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment}

// signers are the signers that this package serves, with the rule for their requests.
var signers = map[string]func(*certificatesv1.CertificateSigningRequest, *x509.CertificateRequest) error{
	certificatesv1.KubeAPIServerClientSignerName: func(r *certificatesv1.CertificateSigningRequest, request *x509.CertificateRequest) error {
		if slices.Contains(request.Subject.Organization, mastersGroup) {
			return fmt.Errorf("spec.request: the organization must not be %s", mastersGroup)
		}
		return checkUsages(r, certificatesv1.UsageClientAuth)
	},
	certificatesv1.KubeAPIServerClientKubeletSignerName: func(r *certificatesv1.CertificateSigningRequest, request *x509.CertificateRequest) error {
		if len(request.DNSNames)+len(request.IPAddresses)+len(request.EmailAddresses)+len(request.URIs) > 0 {
			return errors.New("spec.request: a client certificate of a node must not have alternative names")
		}
		return errors.Join(checkNodeSubject(request), checkUsages(r, certificatesv1.UsageClientAuth))
	},
	certificatesv1.KubeletServingSignerName: func(r *certificatesv1.CertificateSigningRequest, request *x509.CertificateRequest) error {
		switch {
		case len(request.EmailAddresses)+len(request.URIs) > 0:
			return errors.New("spec.request: a serving certificate of a node must not have e-mail addresses or URIs")
		case len(request.DNSNames)+len(request.IPAddresses) == 0:
			return errors.New("spec.request: a serving certificate of a node must have a DNS name or an IP address")
		}
		return errors.Join(checkNodeSubject(request), checkUsages(r, certificatesv1.UsageServerAuth))
	},
	SimulatedNodesSigner: func(r *certificatesv1.CertificateSigningRequest, request *x509.CertificateRequest) error {
		if request.Subject.CommonName != simulatedNodesUser || !hasCommonNameOnly(request) {
			return fmt.Errorf("spec.request: must have the subject CN=%s and no other names", simulatedNodesUser)
		}
		return checkUsages(r, certificatesv1.UsageClientAuth, certificatesv1.UsageServerAuth)
	},
}

func checkNodeSubject(request *x509.CertificateRequest) error {
	if s := request.Subject; !slices.Equal(s.Organization, []string{nodesGroup}) || !strings.HasPrefix(s.CommonName, nodePrefix) {
		return fmt.Errorf("spec.request: the subject is CN=%s, O=%s: must be CN=%sNAME, O=%s", s.CommonName, strings.Join(s.Organization, ","), nodePrefix, nodesGroup)
	}
	return nil
}

// checkUsages requires usages, and accepts optionalUsages.
func checkUsages(r *certificatesv1.CertificateSigningRequest, required ...certificatesv1.KeyUsage) error {
	for _, usage := range required {
		if !slices.Contains(r.Spec.Usages, usage) {
			return fmt.Errorf("spec.usages: must contain %q", usage)
		}
	}
	for _, usage := range r.Spec.Usages {
		if !slices.Contains(required, usage) && !slices.Contains(optionalUsages, usage) {
			return fmt.Errorf("spec.usages: %q is not accepted by the signer %s", usage, r.Spec.SignerName)
		}
	}
	return nil
}

// x509Usages returns the usages of a checked request.
func x509Usages(r *certificatesv1.CertificateSigningRequest) (extended []x509.ExtKeyUsage, usage x509.KeyUsage) {
	for _, u := range r.Spec.Usages {
		switch u {
		case certificatesv1.UsageClientAuth:
			extended = append(extended, x509.ExtKeyUsageClientAuth)
		case certificatesv1.UsageServerAuth:
			extended = append(extended, x509.ExtKeyUsageServerAuth)
		case certificatesv1.UsageDigitalSignature:
			usage |= x509.KeyUsageDigitalSignature
		case certificatesv1.UsageKeyEncipherment:
			usage |= x509.KeyUsageKeyEncipherment
		}
	}
	return extended, usage
}

func condition(r *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequestCondition {
	for i := range r.Status.Conditions {
		if r.Status.Conditions[i].Type == t {
			return &r.Status.Conditions[i]
		}
	}
	return nil
}
