package certificates

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// validateStatus validates conditions and certificate.
func validateStatus(s *certificatesv1.CertificateSigningRequestStatus, path *field.Path) field.ErrorList {
	errs := validateConditions(s.Conditions, path.Child("conditions"))
	if len(s.Certificate) > 0 {
		if err := checkCertificates(s.Certificate); err != nil {
			errs = append(errs, field.Invalid(path.Child("certificate"), "<certificate data>", err.Error()))
		}
	}
	return errs
}

func validateConditions(conditions []certificatesv1.CertificateSigningRequestCondition, path *field.Path) (errs field.ErrorList) {
	seen := map[certificatesv1.RequestConditionType]bool{}
	for i, c := range conditions {
		itemPath := path.Index(i)
		if c.Type == "" {
			errs = append(errs, field.Required(itemPath.Child("type"), ""))
		}
		switch c.Status {
		case "":
			errs = append(errs, field.Required(itemPath.Child("status"), ""))
		case corev1.ConditionTrue:
		case corev1.ConditionFalse, corev1.ConditionUnknown:
			if isDecision(c.Type) || c.Type == certificatesv1.CertificateFailed {
				errs = append(errs, field.NotSupported(itemPath.Child("status"), c.Status, []corev1.ConditionStatus{corev1.ConditionTrue}))
			}
		default:
			errs = append(errs, field.NotSupported(itemPath.Child("status"), c.Status, []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}))
		}
		if seen[c.Type] {
			errs = append(errs, field.Duplicate(itemPath.Child("type"), c.Type))
		}
		if c.Type == certificatesv1.CertificateApproved && seen[certificatesv1.CertificateDenied] || c.Type == certificatesv1.CertificateDenied && seen[certificatesv1.CertificateApproved] {
			errs = append(errs, field.Invalid(itemPath.Child("type"), c.Type, "Approved and Denied conditions are mutually exclusive"))
		}
		seen[c.Type] = true
	}
	return errs
}

// isDecision reports whether the approval subresource owns a condition.
func isDecision(t certificatesv1.RequestConditionType) bool {
	return t == certificatesv1.CertificateApproved || t == certificatesv1.CertificateDenied
}

// checkCertificates requires PEM blocks with certificates.
func checkCertificates(data []byte) error {
	for count := 0; ; count++ {
		block, rest := pem.Decode(data)
		if block == nil {
			if count == 0 || len(bytes.TrimSpace(data)) > 0 {
				return errors.New("must contain one or more PEM blocks")
			}
			return nil
		}
		if block.Type != "CERTIFICATE" || len(block.Headers) != 0 {
			return fmt.Errorf("only CERTIFICATE PEM blocks without headers are allowed, found %q", block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return err
		}
		data = rest
	}
}

// validateUpdate validates what all updates have in common. mayDecide means that the update may add
// decisions, maySign that it may set the certificate.
func validateUpdate(r, old *certificatesv1.CertificateSigningRequest, mayDecide, maySign bool) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&r.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status")
	errs = append(errs, validateStatus(&r.Status, path)...)
	for _, t := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed} {
		oldIndex, index := indexOfCondition(old, t), indexOfCondition(r, t)
		childPath := path.Child("conditions")
		switch {
		case oldIndex >= 0 && index < 0:
			errs = append(errs, field.Forbidden(childPath, fmt.Sprintf("updates may not remove a condition of type %q", t)))
		case oldIndex < 0 && index >= 0 && isDecision(t) && !mayDecide:
			errs = append(errs, field.Forbidden(childPath, fmt.Sprintf("updates may not add a condition of type %q", t)))
		}
	}
	changed := !bytes.Equal(r.Status.Certificate, old.Status.Certificate)
	switch childPath := path.Child("certificate"); {
	case changed && !maySign:
		errs = append(errs, field.Forbidden(childPath, "updates may not set certificate content"))
	case changed && len(old.Status.Certificate) > 0:
		errs = append(errs, field.Forbidden(childPath, "updates may not modify existing certificate content"))
	}
	return errs
}

func indexOfCondition(r *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType) int {
	return slices.IndexFunc(r.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == t })
}

// ValidateUpdate validates an update of the metadata.
func ValidateUpdate(r, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return validateUpdate(r, old, false, false)
}

// ValidateStatusUpdate validates an update by a signer.
func ValidateStatusUpdate(r, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return validateUpdate(r, old, false, true)
}

// ValidateApprovalUpdate validates an update of the decision.
func ValidateApprovalUpdate(r, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return validateUpdate(r, old, true, false)
}
