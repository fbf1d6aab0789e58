package tables

import (
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

func certificatesTable(resource schema.GroupResource) (Table, bool) {
	if resource != certificatesv1.Resource("certificatesigningrequests") {
		return Table{}, false
	}
	return newTable(func(r *certificatesv1.CertificateSigningRequest) []any {
		requested := "<none>"
		if s := r.Spec.ExpirationSeconds; s != nil {
			requested = duration.HumanDuration(time.Duration(*s) * time.Second)
		}
		return []any{r.Name, age(&r.ObjectMeta), r.Spec.SignerName, r.Spec.Username, requested, requestState(r)}
	}, nameColumn(), ageColumn(), stringColumn("SignerName", "Signer that the request is for."), stringColumn("Requestor", "User that created the request."),
		stringColumn("RequestedDuration", "Requested lifetime of the certificate."), stringColumn("Condition", "Decision about the request, and whether the certificate is issued."))
}

// requestState returns the decision and the result of the signer.
func requestState(r *certificatesv1.CertificateSigningRequest) string {
	hasCondition := func(t certificatesv1.RequestConditionType) bool {
		return slices.ContainsFunc(r.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == t })
	}
	var state []string
	switch {
	case hasCondition(certificatesv1.CertificateDenied):
		state = append(state, "Denied")
	case hasCondition(certificatesv1.CertificateApproved):
		state = append(state, "Approved")
	default:
		state = append(state, "Pending")
	}
	if hasCondition(certificatesv1.CertificateFailed) {
		state = append(state, "Failed")
	}
	if len(r.Status.Certificate) > 0 {
		state = append(state, "Issued")
	}
	return strings.Join(state, ",")
}
