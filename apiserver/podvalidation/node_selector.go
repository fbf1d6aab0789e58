package podvalidation

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateNodeSelector validates a required node selector.
func ValidateNodeSelector(selector *corev1.NodeSelector, path *field.Path) field.ErrorList {
	var r errorCollector
	r.validateNodeSelector(selector, path)
	return r.errs
}

func (c *errorCollector) validateNodeSelector(selector *corev1.NodeSelector, path *field.Path) {
	fldPath := path.Child("nodeSelectorTerms")
	if len(selector.NodeSelectorTerms) == 0 {
		c.required(fldPath, "must have at least one node selector term")
		return
	}
	for i := range selector.NodeSelectorTerms {
		c.validateNodeSelectorTerm(&selector.NodeSelectorTerms[i], true, fldPath.Index(i))
	}
}

// validateNodeSelectorTerm validates a term. It validates label values only if checkValues is true, as for
// required terms. Kubernetes accepts invalid values in preferred terms, which then never match.
func (c *errorCollector) validateNodeSelectorTerm(term *corev1.NodeSelectorTerm, checkValues bool, path *field.Path) {
	for i := range term.MatchExpressions {
		c.validateNodeLabelRequirement(&term.MatchExpressions[i], checkValues, path.Child("matchExpressions").Index(i))
	}
	for i := range term.MatchFields {
		c.validateNodeFieldRequirement(&term.MatchFields[i], path.Child("matchFields").Index(i))
	}
}

func (c *errorCollector) validateNodeLabelRequirement(req *corev1.NodeSelectorRequirement, checkValues bool, path *field.Path) {
	values := path.Child("values")
	switch req.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(req.Values) == 0 {
			c.required(values, "must be specified when `operator` is 'In' or 'NotIn'")
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(req.Values) > 0 {
			c.forbidden(values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(req.Values) != 1 {
			c.required(values, "must be specified single value when `operator` is 'Lt' or 'Gt'")
		}
	default:
		c.invalid(path.Child("operator"), req.Operator, "not a valid selector operator")
	}
	c.add(unversioned.ValidateLabelName(req.Key, path.Child("key"))...)
	if !checkValues {
		return
	}
	for i, value := range req.Values {
		c.invalidEach(values.Index(i), value, validation.IsValidLabelValue(value))
	}
}

// validateNodeFieldRequirement validates a field requirement, which selects or excludes a node by name.
func (c *errorCollector) validateNodeFieldRequirement(req *corev1.NodeSelectorRequirement, path *field.Path) {
	switch req.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(req.Values) != 1 {
			c.required(path.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
		}
	default:
		c.invalid(path.Child("operator"), req.Operator, "not a valid selector operator")
	}
	if req.Key != "metadata.name" {
		c.invalid(path.Child("key"), req.Key, "not a valid field selector key")
		return
	}
	for i, value := range req.Values {
		c.invalidEach(path.Child("values").Index(i), value, apivalidation.NameIsDNSSubdomain(value, false))
	}
}
