package review

import (
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// attributes returns the authorizer attributes that a review describes.
func attributes(u user.Info, resource *authorizationv1.ResourceAttributes, nonResource *authorizationv1.NonResourceAttributes) authorizer.AttributesRecord {
	if resource == nil {
		return authorizer.AttributesRecord{User: u, Verb: nonResource.Verb, Path: nonResource.Path}
	}
	out := authorizer.AttributesRecord{
		User: u, ResourceRequest: true,
		Verb: resource.Verb, Namespace: resource.Namespace,
		APIGroup: resource.Group, APIVersion: resource.Version,
		Resource: resource.Resource, Subresource: resource.Subresource, Name: resource.Name,
	}
	if out.APIVersion == "" {
		out.APIVersion = "*"
	}
	if s := resource.FieldSelector; s != nil {
		if s.RawSelector != "" {
			out.FieldSelectorRequirements, out.FieldSelectorParsingErr = parseFields(s.RawSelector)
		} else {
			out.FieldSelectorRequirements, out.FieldSelectorParsingErr = fieldRequirements(s.Requirements)
		}
	}
	if s := resource.LabelSelector; s != nil {
		if s.RawSelector != "" {
			out.LabelSelectorRequirements, out.LabelSelectorParsingErr = parseLabels(s.RawSelector)
		} else {
			out.LabelSelectorRequirements, out.LabelSelectorParsingErr = labelRequirements(s.Requirements)
		}
	}
	return out
}

func parseFields(raw string) (fields.Requirements, error) {
	selector, err := fields.ParseSelector(raw)
	if err != nil {
		return nil, err
	}
	return selector.Requirements(), nil
}

func parseLabels(raw string) (labels.Requirements, error) {
	selector, err := labels.Parse(raw)
	if err != nil {
		return nil, err
	}
	requirements, _ := selector.Requirements()
	return requirements, nil
}

// fieldRequirements converts the requirements of a field selector. Unsupported ones are skipped and
// reported. Skipping widens the request, so it can only lead to a rejection.
func fieldRequirements(in []metav1.FieldSelectorRequirement) (fields.Requirements, error) {
	var out fields.Requirements
	var errs []error
	for _, r := range in {
		switch {
		case len(r.Values) != 1:
			errs = append(errs, fmt.Errorf("fieldSelectors with %d values are not supported", len(r.Values)))
		case r.Operator == metav1.FieldSelectorOpIn:
			out = append(out, fields.Requirement{Field: r.Key, Operator: selection.Equals, Value: r.Values[0]})
		case r.Operator == metav1.FieldSelectorOpNotIn:
			out = append(out, fields.Requirement{Field: r.Key, Operator: selection.NotEquals, Value: r.Values[0]})
		default:
			errs = append(errs, fmt.Errorf("%q is not a valid field selector operator", r.Operator))
		}
	}
	return out, utilerrors.NewAggregate(errs)
}

func labelRequirements(in []metav1.LabelSelectorRequirement) (labels.Requirements, error) {
	operators := map[metav1.LabelSelectorOperator]selection.Operator{
		metav1.LabelSelectorOpIn: selection.In, metav1.LabelSelectorOpNotIn: selection.NotIn,
		metav1.LabelSelectorOpExists: selection.Exists, metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
	}
	var out labels.Requirements
	var errs []error
	for _, r := range in {
		op, ok := operators[r.Operator]
		if !ok {
			errs = append(errs, fmt.Errorf("%q is not a valid label selector operator", r.Operator))
			continue
		}
		requirement, err := labels.NewRequirement(r.Key, op, r.Values)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, *requirement)
	}
	return out, utilerrors.NewAggregate(errs)
}
