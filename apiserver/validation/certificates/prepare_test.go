package certificates

import (
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
)

type condition = certificatesv1.CertificateSigningRequestCondition

// requestWith returns a request with conditions of these types.
func requestWith(types ...certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequest {
	r := &certificatesv1.CertificateSigningRequest{}
	r.Name, r.ResourceVersion = "a", "1"
	r.Spec.SignerName = "example.com/a"
	for _, t := range types {
		r.Status.Conditions = append(r.Status.Conditions, condition{Type: t, Status: corev1.ConditionTrue, Reason: "Old"})
	}
	return r
}

func conditionTypes(r *certificatesv1.CertificateSigningRequest) string {
	var types []string
	for _, c := range r.Status.Conditions {
		types = append(types, string(c.Type))
	}
	return strings.Join(types, " ")
}

// TestApprovalSetsConditionsOfAllTypes checks that the approval subresource stores other conditions than decisions, in
// the order of the update, and no other field.
func TestApprovalSetsConditionsOfAllTypes(t *testing.T) {
	old, changed := requestWith("A"), requestWith("B", "Approved", "A")
	changed.Spec.SignerName, changed.Status.Certificate = "example.com/b", []byte("x")
	PrepareApproval(changed, old)
	if got := conditionTypes(changed); got != "B Approved A" {
		t.Errorf("got conditions %s, want B Approved A", got)
	}
	if changed.Spec.SignerName != "example.com/a" || changed.Status.Certificate != nil {
		t.Errorf("got %+v, want the old signer and no certificate", changed)
	}
	for _, c := range changed.Status.Conditions {
		if c.LastUpdateTime.IsZero() || c.LastTransitionTime.IsZero() {
			t.Errorf("got condition %+v, want both times set", c)
		}
	}
	if errs := ValidateApprovalUpdate(changed, old); len(errs) > 0 {
		t.Errorf("got %v, want a valid update", errs)
	}
}

// TestStatusKeepsDecisions checks that an update of the status keeps decisions and the order of conditions, and that it
// must not add or remove a decision.
func TestStatusKeepsDecisions(t *testing.T) {
	old, changed := requestWith("Approved"), requestWith("A", "Approved", "B")
	changed.Status.Conditions[1].Reason = "New"
	PrepareStatus(changed, old)
	if got := conditionTypes(changed); got != "A Approved B" || changed.Status.Conditions[1].Reason != "Old" {
		t.Errorf("got conditions %s with reason %s, want A Approved B with reason Old", got, changed.Status.Conditions[1].Reason)
	}
	if errs := ValidateStatusUpdate(changed, old); len(errs) > 0 {
		t.Errorf("got %v, want a valid update", errs)
	}
	for want, pair := range map[string][2]*certificatesv1.CertificateSigningRequest{
		`may not add a condition of type "Denied"`:      {requestWith(), requestWith("Denied")},
		`may not remove a condition of type "Approved"`: {requestWith("Approved"), requestWith("A")},
	} {
		PrepareStatus(pair[1], pair[0])
		if errs := ValidateStatusUpdate(pair[1], pair[0]); len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("got %v, want %s", errs, want)
		}
	}
}
