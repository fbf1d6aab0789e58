package podvalidation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// ValidateTolerations validates tolerations of a pod or a RuntimeClass.
func ValidateTolerations(tolerations []corev1.Toleration, path *field.Path) field.ErrorList {
	var r errorCollector
	r.validateTolerations(tolerations, path)
	return r.errs
}

func (c *errorCollector) validateTolerations(tolerations []corev1.Toleration, path *field.Path) {
	for i, toleration := range tolerations {
		idxPath := path.Index(i)
		operator := idxPath.Child("operator")
		if toleration.Key != "" {
			c.add(unversioned.ValidateLabelName(toleration.Key, idxPath.Child("key"))...)
		} else if toleration.Operator != corev1.TolerationOpExists {
			c.invalid(operator, toleration.Operator,
				"operator must be Exists when `key` is empty, which means \"match all values and all keys\"")
		}
		if toleration.TolerationSeconds != nil && toleration.Effect != corev1.TaintEffectNoExecute {
			c.invalid(idxPath.Child("effect"), toleration.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
		}
		switch toleration.Operator {
		case corev1.TolerationOpEqual, "":
			c.validateLabelValue(toleration.Value, operator)
		case corev1.TolerationOpExists:
			if toleration.Value != "" {
				c.invalid(operator, toleration.Value, "value must be empty when `operator` is 'Exists'")
			}
		case corev1.TolerationOpLt, corev1.TolerationOpGt:
			// The gate of the comparison operators is off, but the message lists them as in
			// Kubernetes.
			c.add(field.NotSupported(operator, toleration.Operator, []corev1.TolerationOperator{
				corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt}))
		default:
			validateOneOf(c, toleration.Operator, operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)
		}
		if toleration.Effect != "" {
			c.validateTaintEffect(toleration.Effect, idxPath.Child("effect"))
		}
	}
}

// validateLabelValue adds one error with all reasons.
func (c *errorCollector) validateLabelValue(value string, path *field.Path) {
	if reasons := validation.IsValidLabelValue(value); len(reasons) > 0 {
		c.invalid(path, value, strings.Join(reasons, ";"))
	}
}

func (c *errorCollector) validateTaintEffect(effect corev1.TaintEffect, path *field.Path) {
	requireOneOf(c, effect, path, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
}

// printableTaint formats a taint as kube-apiserver's messages do, without JSON names.
type printableTaint struct {
	Key, Value string
	Effect     corev1.TaintEffect
	TimeAdded  *metav1.Time
}

// ValidateTaints validates the taints of a node.
func ValidateTaints(taints []corev1.Taint, path *field.Path) field.ErrorList {
	var r errorCollector
	seen := podfields.NameSet{}
	for i, taint := range taints {
		idxPath := path.Index(i)
		r.add(unversioned.ValidateLabelName(taint.Key, idxPath.Child("key"))...)
		r.validateLabelValue(taint.Value, idxPath.Child("value"))
		r.validateTaintEffect(taint.Effect, idxPath.Child("effect"))
		if !seen.Add(string(taint.Effect) + "/" + taint.Key) {
			duplicate := field.Duplicate(idxPath, printableTaint{taint.Key, taint.Value, taint.Effect, taint.TimeAdded})
			duplicate.Detail = "taints must be unique by key and effect pair"
			r.add(duplicate)
		}
	}
	return r.errs
}
