package autoscaling

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

const (
	// maxStabilization and maxPeriod are limits in seconds. They bound how much history the controller
	// keeps.
	maxStabilization = 3600
	maxPeriod        = 1800
)

func validateRules(rules *autoscalingv2.HPAScalingRules, path *field.Path) field.ErrorList {
	if rules == nil {
		return nil
	}
	var errs field.ErrorList
	if w := rules.StabilizationWindowSeconds; w != nil {
		errs = append(errs, validateSeconds(*w, 0, "must be greater than or equal to zero", maxStabilization, "must be less than or equal to 3600", path.Child("stabilizationWindowSeconds"))...)
	}
	if p := rules.SelectPolicy; p != nil {
		errs = append(errs, checks.OneOf(*p, path.Child("selectPolicy"), autoscalingv2.DisabledPolicySelect, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect)...)
	}
	policiesPath := path.Child("policies")
	if len(rules.Policies) == 0 {
		errs = append(errs, field.Required(policiesPath, "must specify at least one Policy"))
	}
	for i, p := range rules.Policies {
		itemPath := policiesPath.Index(i)
		errs = append(errs, checks.OneOf(p.Type, itemPath.Child("type"), autoscalingv2.PercentScalingPolicy, autoscalingv2.PodsScalingPolicy)...)
		if p.Value <= 0 {
			errs = append(errs, field.Invalid(itemPath.Child("value"), p.Value, "must be greater than zero"))
		}
		errs = append(errs, validateSeconds(p.PeriodSeconds, 1, "must be greater than zero", maxPeriod, "must be less than or equal to 1800", itemPath.Child("periodSeconds"))...)
	}
	if t := rules.Tolerance; t != nil && t.Sign() < 0 {
		errs = append(errs, field.Invalid(path.Child("tolerance"), t.String(), "must be greater than or equal to 0"))
	}
	return errs
}

func validateSeconds(value, minimum int32, minimumMsg string, maximum int32, maximumMsg string, path *field.Path) field.ErrorList {
	switch {
	case value < minimum:
		return field.ErrorList{field.Invalid(path, value, minimumMsg)}
	case value > maximum:
		return field.ErrorList{field.Invalid(path, value, maximumMsg)}
	}
	return nil
}
