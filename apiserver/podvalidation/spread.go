package podvalidation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (r *errorCollector) validateTopologySpread(constraints []corev1.TopologySpreadConstraint, path *field.Path) {
	for i := range constraints {
		constraint, idxPath := &constraints[i], path.Index(i)
		if constraint.MaxSkew <= 0 {
			r.invalid(idxPath.Child("maxSkew"), constraint.MaxSkew, "must be greater than zero")
		}
		if constraint.TopologyKey == "" {
			r.required(idxPath.Child("topologyKey"), "can not be empty")
		}
		validateOneOf(r, constraint.WhenUnsatisfiable, idxPath.Child("whenUnsatisfiable"), corev1.DoNotSchedule, corev1.ScheduleAnyway)
		for _, other := range constraints[i+1:] {
			if other.TopologyKey == constraint.TopologyKey && other.WhenUnsatisfiable == constraint.WhenUnsatisfiable {
				r.duplicate(idxPath.Child("{topologyKey, whenUnsatisfiable}"),
					fmt.Sprintf("{%s, %s}", constraint.TopologyKey, constraint.WhenUnsatisfiable))
				break
			}
		}
		r.validateMinDomains(constraint, idxPath.Child("minDomains"))
		r.validateNodeInclusion(constraint.NodeAffinityPolicy, idxPath.Child("nodeAffinityPolicy"))
		r.validateNodeInclusion(constraint.NodeTaintsPolicy, idxPath.Child("nodeTaintsPolicy"))
		r.validateLabelKeys(constraint.MatchLabelKeys, constraint.LabelSelector, idxPath.Child("matchLabelKeys"))
		r.forbidKeysInSelector(constraint.MatchLabelKeys, constraint.LabelSelector, idxPath.Child("matchLabelKeys"))
		r.add(unversioned.ValidateLabelSelector(constraint.LabelSelector, unversioned.LabelSelectorValidationOptions{}, idxPath.Child("labelSelector"))...)
	}
}

func (r *errorCollector) validateMinDomains(constraint *corev1.TopologySpreadConstraint, path *field.Path) {
	if constraint.MinDomains == nil {
		return
	}
	if *constraint.MinDomains <= 0 {
		r.invalid(path, *constraint.MinDomains, "must be greater than zero")
	}
	if constraint.WhenUnsatisfiable != corev1.DoNotSchedule {
		r.invalid(path, *constraint.MinDomains, fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s",
			corev1.DoNotSchedule, constraint.WhenUnsatisfiable))
	}
}

func (r *errorCollector) validateNodeInclusion(policy *corev1.NodeInclusionPolicy, path *field.Path) {
	if policy != nil {
		validateOneOf(r, *policy, path, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
	}
}
