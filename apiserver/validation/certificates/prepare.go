package certificates

import (
	"context"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// PrepareCreate sets the requester, which clients cannot choose, and clears the status.
func PrepareCreate(ctx context.Context, r *certificatesv1.CertificateSigningRequest) {
	s := &r.Spec
	s.Username, s.UID, s.Groups, s.Extra = "", "", nil, nil
	if user, ok := request.UserFrom(ctx); ok {
		s.Username, s.UID, s.Groups = user.GetName(), user.GetUID(), user.GetGroups()
		for key, values := range user.GetExtra() {
			if s.Extra == nil {
				s.Extra = map[string]certificatesv1.ExtraValue{}
			}
			s.Extra[key] = values
		}
	}
	r.Status = certificatesv1.CertificateSigningRequestStatus{}
}

// PrepareUpdate restores everything but metadata.
func PrepareUpdate(r, old *certificatesv1.CertificateSigningRequest) {
	r.Spec, r.Status = old.Spec, old.Status
}

// PrepareStatus restores the request and existing decisions, which belong to the approval subresource. Decisions that
// the update adds or removes stay as they are: ValidateStatusUpdate rejects them.
func PrepareStatus(r, old *certificatesv1.CertificateSigningRequest) {
	r.Spec = old.Spec
	for i := range r.Status.Conditions {
		c := &r.Status.Conditions[i]
		if j := indexOfCondition(old, c.Type); j >= 0 && isDecision(c.Type) {
			*c = old.Status.Conditions[j]
		}
	}
	setTimes(r, old)
}

// PrepareApproval restores the request and the certificate. It keeps conditions of all types, not only decisions.
func PrepareApproval(r, old *certificatesv1.CertificateSigningRequest) {
	r.Spec, r.Status.Certificate = old.Spec, old.Status.Certificate
	setTimes(r, old)
}

// setTimes sets missing times of conditions.
func setTimes(r, old *certificatesv1.CertificateSigningRequest) {
	now := metav1.Now()
	for i := range r.Status.Conditions {
		c := &r.Status.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = now
		if j := slices.IndexFunc(old.Status.Conditions, func(o certificatesv1.CertificateSigningRequestCondition) bool {
			return o.Type == c.Type && o.Status == c.Status
		}); j >= 0 && !old.Status.Conditions[j].LastTransitionTime.IsZero() {
			c.LastTransitionTime = old.Status.Conditions[j].LastTransitionTime
		}
	}
}
