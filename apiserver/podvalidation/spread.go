package podvalidation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (c *errorCollector) validateTopologySpread(constraints []corev1.TopologySpreadConstraint, path *field.Path) {
	for i := range constraints {
		constraint, idxPath := &constraints[i], path.Index(i)
		if constraint.MaxSkew <= 0 {
			c.invalid(idxPath.Child("maxSkew"), constraint.MaxSkew, "must be greater than zero")
		}
		if constraint.TopologyKey == "" {
			c.required(idxPath.Child("topologyKey"), "can not be empty")
		}
		validateOneOf(c, constraint.WhenUnsatisfiable, idxPath.Child("whenUnsatisfiable"), corev1.DoNotSchedule, corev1.ScheduleAnyway)
		for _, other := range constraints[i+1:] {
			if other.TopologyKey == constraint.TopologyKey && other.WhenUnsatisfiable == constraint.WhenUnsatisfiable {
				c.duplicate(idxPath.Child("{topologyKey, whenUnsatisfiable}"),
					fmt.Sprintf("{%s, %s}", constraint.TopologyKey, constraint.WhenUnsatisfiable))
				break
			}
		}
		c.validateMinDomains(constraint, idxPath.Child("minDomains"))
		c.validateNodeInclusion(constraint.NodeAffinityPolicy, idxPath.Child("nodeAffinityPolicy"))
		c.validateNodeInclusion(constraint.NodeTaintsPolicy, idxPath.Child("nodeTaintsPolicy"))
		c.validateLabelKeys(constraint.MatchLabelKeys, constraint.LabelSelector, idxPath.Child("matchLabelKeys"))
		c.forbidKeysInSelector(constraint.MatchLabelKeys, constraint.LabelSelector, idxPath.Child("matchLabelKeys"))
		c.add(unversioned.ValidateLabelSelector(constraint.LabelSelector, unversioned.LabelSelectorValidationOptions{}, idxPath.Child("labelSelector"))...)
	}
}

func (c *errorCollector) validateMinDomains(constraint *corev1.TopologySpreadConstraint, path *field.Path) {
	if constraint.MinDomains == nil {
		return
	}
	if *constraint.MinDomains <= 0 {
		c.invalid(path, *constraint.MinDomains, "must be greater than zero")
	}
	if constraint.WhenUnsatisfiable != corev1.DoNotSchedule {
		c.invalid(path, *constraint.MinDomains, fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s",
			corev1.DoNotSchedule, constraint.WhenUnsatisfiable))
	}
}

func (c *errorCollector) validateNodeInclusion(policy *corev1.NodeInclusionPolicy, path *field.Path) {
	if policy != nil {
		validateOneOf(c, *policy, path, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
	}
}
