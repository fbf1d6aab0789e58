package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// DefaultLimitRange sets the defaults of items for containers: default limits from maxima, and default
// requests from default limits or else minima.
func DefaultLimitRange(l *corev1.LimitRange) {
	for i := range l.Spec.Limits {
		item := &l.Spec.Limits[i]
		for _, list := range []corev1.ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
			poddefaults.DefaultResourceList(list)
		}
		if item.Type == corev1.LimitTypeContainer {
			inherit(&item.Default, item.Max)
			inherit(&item.DefaultRequest, item.Default)
			inherit(&item.DefaultRequest, item.Min)
		}
	}
}

// inherit copies the resources that list lacks.
func inherit(list *corev1.ResourceList, from corev1.ResourceList) {
	for name, q := range from {
		if _, found := (*list)[name]; found {
			continue
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = q.DeepCopy()
	}
}

// ValidateLimitRange validates a new LimitRange.
func ValidateLimitRange(l *corev1.LimitRange) field.ErrorList {
	errs := checks.ObjectMeta(&l.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	seen := map[corev1.LimitType]bool{}
	for i := range l.Spec.Limits {
		item, path := &l.Spec.Limits[i], field.NewPath("spec", "limits").Index(i)
		errs = append(errs, checks.QualifiedName(string(item.Type), path.Child("type"))...)
		if seen[item.Type] {
			errs = append(errs, field.Duplicate(path.Child("type"), item.Type))
		}
		seen[item.Type] = true
		errs = append(errs, validateLimitItem(item, path)...)
	}
	return errs
}

// ValidateLimitRangeUpdate validates an update.
func ValidateLimitRangeUpdate(l, _ *corev1.LimitRange) field.ErrorList {
	return ValidateLimitRange(l)
}

func validateLimitItem(item *corev1.LimitRangeItem, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := map[corev1.ResourceName]bool{}
	checkNames := func(list corev1.ResourceList, child string) {
		for _, name := range checks.SortedKeys(list) {
			errs = append(errs, checks.QualifiedName(string(name), path.Child(child).Key(string(name)))...)
			names[name] = true
		}
	}
	checkNames(item.Max, "max")
	checkNames(item.Min, "min")
	if item.Type == corev1.LimitTypePod {
		if len(item.Default) > 0 {
			errs = append(errs, field.Forbidden(path.Child("default"), "may not be specified when `type` is 'Pod'"))
		}
		if len(item.DefaultRequest) > 0 {
			errs = append(errs, field.Forbidden(path.Child("defaultRequest"), "may not be specified when `type` is 'Pod'"))
		}
	} else {
		checkNames(item.Default, "default")
		checkNames(item.DefaultRequest, "defaultRequest")
	}
	if item.Type == corev1.LimitTypePersistentVolumeClaim {
		_, hasMin := item.Min[corev1.ResourceStorage]
		_, hasMax := item.Max[corev1.ResourceStorage]
		if !hasMin && !hasMax {
			errs = append(errs, field.Required(path.Child("limits"), "either minimum or maximum storage value is required, but neither was provided"))
		}
	}
	checkNames(item.MaxLimitRequestRatio, "maxLimitRequestRatio")
	for _, name := range checks.SortedKeys(names) {
		errs = append(errs, validateLimitOrder(item, name, path)...)
	}
	return errs
}

// validateLimitOrder requires min <= default request <= default <= max for a resource, and a feasible
// ratio.
func validateLimitOrder(item *corev1.LimitRangeItem, name corev1.ResourceName, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	checkOrder := func(low, high, reported corev1.ResourceList, child, format string) {
		lowValue, hasLow := low[name]
		highValue, hasHigh := high[name]
		if hasLow && hasHigh && lowValue.Cmp(highValue) > 0 {
			value := reported[name]
			errs = append(errs, field.Invalid(path.Child(child).Key(string(name)), value, fmt.Sprintf(format, lowValue.String(), highValue.String())))
		}
	}
	checkOrder(item.Min, item.Max, item.Min, "min", "min value %s is greater than max value %s")
	checkOrder(item.Min, item.DefaultRequest, item.DefaultRequest, "defaultRequest", "min value %s is greater than default request value %s")
	checkOrder(item.DefaultRequest, item.Max, item.DefaultRequest, "defaultRequest", "default request value %s is greater than max value %s")
	checkOrder(item.DefaultRequest, item.Default, item.DefaultRequest, "defaultRequest", "default request value %s is greater than default limit value %s")
	checkOrder(item.Min, item.Default, item.Min, "default", "min value %s is greater than default value %s")
	checkOrder(item.Default, item.Max, item.Max, "default", "default value %s is greater than max value %s")
	ratio, found := item.MaxLimitRequestRatio[name]
	if !found {
		return errs
	}
	childPath := path.Child("maxLimitRequestRatio").Key(string(name))
	if one := resource.MustParse("1"); ratio.Cmp(one) < 0 {
		errs = append(errs, field.Invalid(childPath, ratio, fmt.Sprintf("ratio %s is less than 1", ratio.String())))
	}
	minValue, hasMin := item.Min[name]
	maxValue, hasMax := item.Max[name]
	if hasMin && hasMax && !minValue.IsZero() {
		if limit := maxValue.AsApproximateFloat64() / minValue.AsApproximateFloat64(); ratio.AsApproximateFloat64() > limit {
			errs = append(errs, field.Invalid(childPath, ratio, fmt.Sprintf("ratio %s is greater than max/min = %f", ratio.String(), limit)))
		}
	}
	return errs
}
