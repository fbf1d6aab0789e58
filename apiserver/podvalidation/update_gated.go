package podvalidation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// allowGatedUpdates allows a pod with scheduling gates to restrict its node selection. It reverts
// allowed changes in remaining for the subsequent comparison.
func (u *updateValidator) allowGatedUpdates(remaining *corev1.PodSpec, path *field.Path) {
	old := &u.old.Spec
	if !equality.Semantic.DeepEqual(remaining.NodeSelector, old.NodeSelector) {
		for key, value := range old.NodeSelector {
			if now, has := remaining.NodeSelector[key]; !has || now != value {
				u.invalid(path.Child("nodeSelector"), remaining.NodeSelector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)")
				break
			}
		}
		remaining.NodeSelector = old.NodeSelector
	}
	now, before := podfields.NodeAffinityOf(remaining), podfields.NodeAffinityOf(old)
	if equality.Semantic.DeepEqual(now, before) {
		return
	}
	u.nodeAffinityNarrowed(now, before, path.Child("affinity", "nodeAffinity"))
	switch {
	case remaining.Affinity == nil:
		remaining.Affinity = &corev1.Affinity{NodeAffinity: before}
	case old.Affinity == nil && remaining.Affinity.PodAffinity == nil && remaining.Affinity.PodAntiAffinity == nil:
		remaining.Affinity = nil
	default:
		remaining.Affinity.NodeAffinity = before
	}
}

// nodeAffinityNarrowed requires the same number of required terms, each at least as strict as
// before. Preferred terms may change.
func (u *updateValidator) nodeAffinityNarrowed(now, before *corev1.NodeAffinity, path *field.Path) {
	if before == nil || before.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	fldPath := path.Child(podfields.RequiredTerms, "nodeSelectorTerms")
	var terms []corev1.NodeSelectorTerm
	if now != nil && now.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		terms = now.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	old := before.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(old) > 0 && len(terms) != len(old) {
		u.invalid(fldPath, terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
		return
	}
	for i := range old {
		if !isStricterTerm(&terms[i], &old[i]) {
			u.invalid(fldPath.Index(i), terms[i], "only additions are allowed (no mutations or deletions)")
		}
	}
}

// isStricterTerm reports whether now only appends requirements to before. An empty term must stay
// empty.
func isStricterTerm(now, before *corev1.NodeSelectorTerm) bool {
	if len(before.MatchExpressions) == 0 && len(before.MatchFields) == 0 {
		return len(now.MatchExpressions) == 0 && len(now.MatchFields) == 0
	}
	return hasPrefix(now.MatchExpressions, before.MatchExpressions) && hasPrefix(now.MatchFields, before.MatchFields)
}

func hasPrefix(now, before []corev1.NodeSelectorRequirement) bool {
	return len(now) >= len(before) && slices.EqualFunc(now[:len(before)], before,
		func(a, b corev1.NodeSelectorRequirement) bool { return equality.Semantic.DeepEqual(a, b) })
}
