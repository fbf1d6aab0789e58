package admission

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/berthproject/berth/apiserver/validation/certificates"
)

// signerAuthorization requires a permission on the signer of a CertificateSigningRequest: "approve" for
// decisions, "sign" for certificates.
type signerAuthorization struct {
	*admission.Handler
	verb, subresource string
	applies           func(r, old *certificatesv1.CertificateSigningRequest) bool
	authorizer        authorizer.Authorizer
}

var (
	_ admission.ValidationInterface = &signerAuthorization{}
	_ initializer.WantsAuthorizer   = &signerAuthorization{}
)

func newCertificateApproval() *signerAuthorization {
	return &signerAuthorization{Handler: admission.NewHandler(admission.Update), verb: "approve", subresource: "approval",
		applies: func(_, _ *certificatesv1.CertificateSigningRequest) bool { return true }}
}

func newCertificateSigning() *signerAuthorization {
	failed := func(r *certificatesv1.CertificateSigningRequest) bool {
		return slices.ContainsFunc(r.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
			return c.Type == certificatesv1.CertificateFailed
		})
	}
	return &signerAuthorization{Handler: admission.NewHandler(admission.Update), verb: "sign", subresource: "status",
		applies: func(r, old *certificatesv1.CertificateSigningRequest) bool {
			return !bytes.Equal(r.Status.Certificate, old.Status.Certificate) || failed(r) != failed(old)
		}}
}

// SetAuthorizer implements initializer.WantsAuthorizer.
func (s *signerAuthorization) SetAuthorizer(a authorizer.Authorizer) { s.authorizer = a }

// ValidateInitialization implements admission.InitializationValidator.
func (s *signerAuthorization) ValidateInitialization() error {
	if s.authorizer == nil {
		return fmt.Errorf("the admission plugin for the verb %s of signers needs an authorizer", s.verb)
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (s *signerAuthorization) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	r, ok := a.GetObject().(*certificatesv1.CertificateSigningRequest)
	old, oldOK := a.GetOldObject().(*certificatesv1.CertificateSigningRequest)
	if a.GetSubresource() != s.subresource || !ok || !oldOK || !s.applies(r, old) {
		return nil
	}
	signer := old.Spec.SignerName
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		decision, _, _ := s.authorizer.Authorize(ctx, authorizer.AttributesRecord{
			User: a.GetUserInfo(), Verb: s.verb, Name: name, APIGroup: "certificates.k8s.io", APIVersion: "*", Resource: "signers", ResourceRequest: true,
		})
		if decision == authorizer.DecisionAllow {
			return nil
		}
	}
	return admission.NewForbidden(a, fmt.Errorf("user not permitted to %s requests with signerName %q", s.verb, signer))
}

// subjectRestriction rejects requests for client certificates of group system:masters.
type subjectRestriction struct{ *admission.Handler }

var _ admission.ValidationInterface = &subjectRestriction{}

func newSubjectRestriction() *subjectRestriction {
	return &subjectRestriction{admission.NewHandler(admission.Create)}
}

// Validate implements admission.ValidationInterface.
func (s *subjectRestriction) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	r, ok := a.GetObject().(*certificatesv1.CertificateSigningRequest)
	if !ok || a.GetSubresource() != "" || r.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return nil
	}
	parsed, err := certificates.Parse(r.Spec.Request)
	if err != nil {
		return admission.NewForbidden(a, fmt.Errorf("failed to parse CSR: %w", err))
	}
	if slices.Contains(parsed.Subject.Organization, user.SystemPrivilegedGroup) {
		return admission.NewForbidden(a, fmt.Errorf("use of %s signer with %s group is not allowed", certificatesv1.KubeAPIServerClientSignerName, user.SystemPrivilegedGroup))
	}
	return nil
}
