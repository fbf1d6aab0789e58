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
			if newValue, ok := remaining.NodeSelector[key]; !ok || newValue != value {
				u.invalid(path.Child("nodeSelector"), remaining.NodeSelector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)")
				break
			}
		}
		remaining.NodeSelector = old.NodeSelector
	}
	newAffinity, oldAffinity := podfields.NodeAffinityOf(remaining), podfields.NodeAffinityOf(old)
	if equality.Semantic.DeepEqual(newAffinity, oldAffinity) {
		return
	}
	u.validateNodeAffinityChange(newAffinity, oldAffinity, path.Child("affinity", "nodeAffinity"))
	switch {
	case remaining.Affinity == nil:
		remaining.Affinity = &corev1.Affinity{NodeAffinity: oldAffinity}
	case old.Affinity == nil && remaining.Affinity.PodAffinity == nil && remaining.Affinity.PodAntiAffinity == nil:
		remaining.Affinity = nil
	default:
		remaining.Affinity.NodeAffinity = oldAffinity
	}
}

// validateNodeAffinityChange requires the same number of required terms, each at least as strict as
// the old one. Preferred terms may change.
func (u *updateValidator) validateNodeAffinityChange(newAffinity, oldAffinity *corev1.NodeAffinity, path *field.Path) {
	if oldAffinity == nil || oldAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	fldPath := path.Child(podfields.RequiredTerms, "nodeSelectorTerms")
	var newTerms []corev1.NodeSelectorTerm
	if newAffinity != nil && newAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		newTerms = newAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	oldTerms := oldAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(oldTerms) > 0 && len(newTerms) != len(oldTerms) {
		u.invalid(fldPath, newTerms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
		return
	}
	for i := range oldTerms {
		if !isStricterTerm(&newTerms[i], &oldTerms[i]) {
			u.invalid(fldPath.Index(i), newTerms[i], "only additions are allowed (no mutations or deletions)")
		}
	}
}

// isStricterTerm reports whether newTerm only appends requirements to oldTerm. An empty term must stay
// empty.
func isStricterTerm(newTerm, oldTerm *corev1.NodeSelectorTerm) bool {
	if len(oldTerm.MatchExpressions) == 0 && len(oldTerm.MatchFields) == 0 {
		return len(newTerm.MatchExpressions) == 0 && len(newTerm.MatchFields) == 0
	}
	return hasPrefix(newTerm.MatchExpressions, oldTerm.MatchExpressions) && hasPrefix(newTerm.MatchFields, oldTerm.MatchFields)
}

func hasPrefix(list, prefix []corev1.NodeSelectorRequirement) bool {
	return len(list) >= len(prefix) && slices.EqualFunc(list[:len(prefix)], prefix,
		func(a, b corev1.NodeSelectorRequirement) bool { return equality.Semantic.DeepEqual(a, b) })
}
