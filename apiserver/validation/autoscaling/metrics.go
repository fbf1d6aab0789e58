package autoscaling

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// source is a field of a MetricSpec with the type that requires it.
type source struct {
	metricType autoscalingv2.MetricSourceType
	field      string
	isSet      bool
	validate   func(*field.Path) field.ErrorList
}

func sourcesOf(m *autoscalingv2.MetricSpec) []source {
	return []source{
		{autoscalingv2.ContainerResourceMetricSourceType, "containerResource", m.ContainerResource != nil, func(p *field.Path) field.ErrorList {
			errs := validateSegment(m.ContainerResource.Container, "must specify a container", p.Child("container"))
			return append(errs, validateResource(string(m.ContainerResource.Name), &m.ContainerResource.Target, p)...)
		}},
		{autoscalingv2.ExternalMetricSourceType, "external", m.External != nil, func(p *field.Path) field.ErrorList {
			errs := validateIdentifier(&m.External.Metric, p.Child("metric"))
			return append(errs, validateValueOrAverage(&m.External.Target, p.Child("target"))...)
		}},
		{autoscalingv2.ObjectMetricSourceType, "object", m.Object != nil, func(p *field.Path) field.ErrorList {
			errs := validateReference(&m.Object.DescribedObject, true, p.Child("describedObject"))
			errs = append(errs, validateIdentifier(&m.Object.Metric, p.Child("metric"))...)
			return append(errs, validateValueOrAverage(&m.Object.Target, p.Child("target"))...)
		}},
		{autoscalingv2.PodsMetricSourceType, "pods", m.Pods != nil, func(p *field.Path) field.ErrorList {
			errs := validateIdentifier(&m.Pods.Metric, p.Child("metric"))
			errs = append(errs, validateTarget(&m.Pods.Target, p.Child("target"))...)
			if v := m.Pods.Target.AverageValue; v == nil || v.Sign() != 1 {
				errs = append(errs, field.Required(p.Child("target", "averageValue"), "must specify a positive target averageValue"))
			}
			return errs
		}},
		{autoscalingv2.ResourceMetricSourceType, "resource", m.Resource != nil, func(p *field.Path) field.ErrorList {
			return validateResource(string(m.Resource.Name), &m.Resource.Target, p)
		}},
	}
}

// validateMetric requires exactly the source that the type names.
func validateMetric(m *autoscalingv2.MetricSpec, path *field.Path) field.ErrorList {
	if m.Type == "" {
		return field.ErrorList{field.Required(path.Child("type"), "must specify a metric source type")}
	}
	var errs field.ErrorList
	var types []autoscalingv2.MetricSourceType
	supported := false
	for _, s := range sourcesOf(m) {
		types = append(types, s.metricType)
		supported = supported || s.metricType == m.Type
	}
	if !supported {
		return field.ErrorList{field.NotSupported(path.Child("type"), m.Type, types)}
	}
	for _, s := range sourcesOf(m) {
		childPath := path.Child(s.field)
		switch {
		case s.isSet && s.metricType == m.Type:
			errs = append(errs, s.validate(childPath)...)
		case s.isSet:
			errs = append(errs, field.Forbidden(childPath, "must populate the given metric source only"))
		case s.metricType == m.Type:
			errs = append(errs, field.Required(childPath, "must populate information for the given metric source"))
		}
	}
	return errs
}

func validateIdentifier(m *autoscalingv2.MetricIdentifier, path *field.Path) field.ErrorList {
	errs := validateSegment(m.Name, "must specify a metric name", path.Child("name"))
	if m.Selector != nil {
		errs = append(errs, checks.LabelSelector(m.Selector, false, path.Child("selector"))...)
	}
	return errs
}

func validateResource(name string, target *autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if name == "" {
		errs = append(errs, field.Required(path.Child("name"), "must specify a resource name"))
	}
	childPath := path.Child("target")
	errs = append(errs, validateTarget(target, childPath)...)
	switch {
	case target.AverageUtilization == nil && target.AverageValue == nil:
		errs = append(errs, field.Required(childPath.Child("averageUtilization"), "must set either a target raw value or a target utilization"))
	case target.AverageUtilization != nil && target.AverageValue != nil:
		errs = append(errs, field.Forbidden(childPath.Child("averageValue"), "may not set both a target raw value and a target utilization"))
	}
	return errs
}

func validateValueOrAverage(target *autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	errs := validateTarget(target, path)
	switch {
	case target.Value == nil && target.AverageValue == nil:
		errs = append(errs, field.Required(path.Child("averageValue"), "must set either a target value for metric or a per-pod target"))
	case target.Value != nil && target.AverageValue != nil:
		errs = append(errs, field.Forbidden(path.Child("value"), "may not set both a target value for metric and a per-pod target"))
	}
	return errs
}

func validateTarget(target *autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch target.Type {
	case "":
		errs = append(errs, field.Required(path.Child("type"), "must specify a metric target type"))
	case autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType:
	default:
		errs = append(errs, field.Invalid(path.Child("type"), target.Type, "must be either Utilization, Value, or AverageValue"))
	}
	if v := target.Value; v != nil && v.Sign() != 1 {
		errs = append(errs, field.Invalid(path.Child("value"), v.String(), "must be positive"))
	}
	if v := target.AverageValue; v != nil && v.Sign() != 1 {
		errs = append(errs, field.Invalid(path.Child("averageValue"), v.String(), "must be positive"))
	}
	if v := target.AverageUtilization; v != nil && *v < 1 {
		errs = append(errs, field.Invalid(path.Child("averageUtilization"), *v, "must be greater than 0"))
	}
	return errs
}
