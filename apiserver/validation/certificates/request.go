package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

const (
	// minExpirationSeconds is the shortest duration that a request may have.
	minExpirationSeconds = 600
	// legacyUnknown is the signer of v1beta1, which v1 does not accept.
	legacyUnknown = "kubernetes.io/legacy-unknown"
	// maxSignerName is the maximum length in bytes of a signer name: namespace, resource and domain.
	maxSignerName = 571
)

// usages are the accepted key usages.
var usages = []certificatesv1.KeyUsage{
	certificatesv1.UsageSigning, certificatesv1.UsageDigitalSignature, certificatesv1.UsageContentCommitment,
	certificatesv1.UsageKeyEncipherment, certificatesv1.UsageKeyAgreement, certificatesv1.UsageDataEncipherment,
	certificatesv1.UsageCertSign, certificatesv1.UsageCRLSign, certificatesv1.UsageEncipherOnly, certificatesv1.UsageDecipherOnly,
	certificatesv1.UsageAny, certificatesv1.UsageServerAuth, certificatesv1.UsageClientAuth, certificatesv1.UsageCodeSigning,
	certificatesv1.UsageEmailProtection, certificatesv1.UsageSMIME, certificatesv1.UsageIPsecEndSystem, certificatesv1.UsageIPsecTunnel,
	certificatesv1.UsageIPsecUser, certificatesv1.UsageTimestamping, certificatesv1.UsageOCSPSigning, certificatesv1.UsageMicrosoftSGC, certificatesv1.UsageNetscapeSGC,
}

// Parse returns the PKCS #10 request in a PEM block, with a verified signature.
func Parse(request []byte) (*x509.CertificateRequest, error) {
	block, rest := pem.Decode(request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	if len(block.Headers) != 0 {
		return nil, errors.New("PEM block must not have headers")
	}
	if len(strings.TrimSpace(string(rest))) != 0 {
		return nil, errors.New("found trailing data after the PEM block")
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	return csr, csr.CheckSignature()
}

// Validate validates a new request.
func Validate(r *certificatesv1.CertificateSigningRequest) field.ErrorList {
	errs := checks.ObjectMeta(&r.ObjectMeta, false, func(string, bool) []string { return nil })
	path := field.NewPath("spec")
	errs = append(errs, validateSpec(&r.Spec, path)...)
	return append(errs, validateStatus(&r.Status, field.NewPath("status"))...)
}

func validateSpec(s *certificatesv1.CertificateSigningRequestSpec, path *field.Path) (errs field.ErrorList) {
	if _, err := Parse(s.Request); err != nil {
		errs = append(errs, field.Invalid(path.Child("request"), s.Request, fmt.Sprintf("%v", err)))
	}
	if len(s.Usages) == 0 {
		errs = append(errs, field.Required(path.Child("usages"), "usages must be provided"))
	}
	for i, usage := range s.Usages {
		itemPath := path.Child("usages").Index(i)
		if !slices.Contains(usages, usage) {
			errs = append(errs, field.NotSupported(itemPath, usage, usages))
		} else if slices.Index(s.Usages, usage) < i {
			errs = append(errs, field.Duplicate(itemPath, usage))
		}
	}
	if s.SignerName == legacyUnknown {
		errs = append(errs, field.Invalid(path.Child("signerName"), s.SignerName, "the legacy signerName is not allowed via this API version"))
	}
	errs = append(errs, validateSignerName(s.SignerName, path.Child("signerName"))...)
	if s.ExpirationSeconds != nil && *s.ExpirationSeconds < minExpirationSeconds {
		errs = append(errs, field.Invalid(path.Child("expirationSeconds"), *s.ExpirationSeconds, fmt.Sprintf("may not specify a duration less than %d seconds", minExpirationSeconds)))
	}
	return errs
}

// validateSignerName requires DOMAIN/PATH.
func validateSignerName(name string, path *field.Path) (errs field.ErrorList) {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	domain, signerPath, found := strings.Cut(name, "/")
	if !found || strings.Contains(signerPath, "/") {
		return field.ErrorList{field.Invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")}
	}
	errs = append(errs, checks.InvalidEach(path, domain, validation.IsDNS1123Subdomain(domain))...)
	if !strings.Contains(domain, ".") {
		errs = append(errs, field.Invalid(path, domain, "should be a domain with at least two segments separated by dots"))
	}
	for _, part := range strings.Split(signerPath, ".") {
		errs = append(errs, checks.InvalidEach(path, signerPath, validation.IsDNS1123Subdomain(part))...)
	}
	if len(name) > maxSignerName {
		errs = append(errs, field.TooLong(path, "", maxSignerName))
	}
	return errs
}
