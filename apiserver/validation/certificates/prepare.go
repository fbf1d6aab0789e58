package certificates

import (
	"context"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// PrepareCreate sets the requester. Clients cannot choose it.
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

// PrepareStatus restores the decision, which belongs to the approval subresource.
func PrepareStatus(r, old *certificatesv1.CertificateSigningRequest) {
	r.Spec = old.Spec
	r.Status.Conditions = merge(r.Status.Conditions, old.Status.Conditions, isDecision)
	setTimes(r, old)
}

// PrepareApproval restores everything but the decision.
func PrepareApproval(r, old *certificatesv1.CertificateSigningRequest) {
	r.Spec, r.Status.Certificate = old.Spec, old.Status.Certificate
	r.Status.Conditions = merge(r.Status.Conditions, old.Status.Conditions, func(t certificatesv1.RequestConditionType) bool { return !isDecision(t) })
	setTimes(r, old)
}

// merge returns the conditions of changed, and those of old for types that keep selects.
func merge(changed, old []certificatesv1.CertificateSigningRequestCondition, keep func(certificatesv1.RequestConditionType) bool) (out []certificatesv1.CertificateSigningRequestCondition) {
	for _, c := range old {
		if keep(c.Type) {
			out = append(out, c)
		}
	}
	for _, c := range changed {
		if !keep(c.Type) {
			out = append(out, c)
		}
	}
	return out
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
