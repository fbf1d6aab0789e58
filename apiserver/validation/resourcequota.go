package validation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
)

// standardQuota are the unqualified names that a quota can limit.
var standardQuota = map[corev1.ResourceName]bool{
	corev1.ResourceCPU: true, corev1.ResourceMemory: true, corev1.ResourceEphemeralStorage: true,
	corev1.ResourceRequestsCPU: true, corev1.ResourceRequestsMemory: true, corev1.ResourceRequestsStorage: true, corev1.ResourceRequestsEphemeralStorage: true,
	corev1.ResourceLimitsCPU: true, corev1.ResourceLimitsMemory: true, corev1.ResourceLimitsEphemeralStorage: true,
	corev1.ResourcePods: true, corev1.ResourceQuotas: true, corev1.ResourceServices: true, corev1.ResourceReplicationControllers: true,
	corev1.ResourceSecrets: true, corev1.ResourcePersistentVolumeClaims: true, corev1.ResourceConfigMaps: true,
	corev1.ResourceServicesNodePorts: true, corev1.ResourceServicesLoadBalancers: true,
}

var quotaScopes = []corev1.ResourceQuotaScope{
	corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeBestEffort,
	corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity,
	corev1.ResourceQuotaScopeVolumeAttributesClass,
}

// DefaultResourceQuota rounds quantities.
func DefaultResourceQuota(q *corev1.ResourceQuota) {
	podvalidation.DefaultResourceList(q.Spec.Hard)
	podvalidation.DefaultResourceList(q.Status.Hard)
	podvalidation.DefaultResourceList(q.Status.Used)
}

// ValidateResourceQuota validates a new quota.
func ValidateResourceQuota(q *corev1.ResourceQuota) field.ErrorList {
	return append(objectMeta(&q.ObjectMeta, true, apivalidation.NameIsDNSSubdomain), quotaSpec(&q.Spec)...)
}

func quotaSpec(spec *corev1.ResourceQuotaSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := quotaList(spec.Hard, path.Child("hard"))
	for _, scope := range spec.Scopes {
		if !slices.Contains(quotaScopes, scope) {
			errs = append(errs, field.Invalid(path.Child("scopes"), spec.Scopes, "unsupported scope"))
		}
	}
	for _, pair := range [][2]corev1.ResourceQuotaScope{
		{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort},
		{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating},
	} {
		if slices.Contains(spec.Scopes, pair[0]) && slices.Contains(spec.Scopes, pair[1]) {
			errs = append(errs, field.Invalid(path.Child("scopes"), spec.Scopes, "conflicting scopes"))
		}
	}
	if spec.ScopeSelector != nil {
		errs = append(errs, scopeSelector(spec.ScopeSelector, path.Child("scopeSelector", "matchExpressions"))...)
	}
	return errs
}

func scopeSelector(s *corev1.ScopeSelector, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, e := range s.MatchExpressions {
		at := path.Index(i)
		if !slices.Contains(quotaScopes, e.ScopeName) {
			errs = append(errs, field.Invalid(at.Child("scopeName"), e.ScopeName, "unsupported scope"))
		}
		switch e.Operator {
		case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
			if len(e.Values) == 0 {
				errs = append(errs, field.Required(at.Child("values"), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"))
			}
		case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
			if len(e.Values) != 0 {
				errs = append(errs, field.Invalid(at.Child("values"), e.Values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"))
			}
		default:
			errs = append(errs, field.Invalid(at.Child("operator"), e.Operator, "not a valid selector operator"))
		}
	}
	return errs
}

func quotaList(list corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedKeys(list) {
		at := path.Key(string(name))
		errs = append(errs, quotaName(name, at)...)
		errs = append(errs, podvalidation.ValidateResourceQuantityValue(name, list[name], at)...)
	}
	return errs
}

func quotaName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs := qualifiedName(string(name), path)
	if len(errs) > 0 || strings.Contains(string(name), "/") || standardQuota[name] {
		return errs
	}
	if strings.HasPrefix(string(name), "hugepages-") || strings.HasPrefix(string(name), "requests.hugepages-") {
		return nil
	}
	return field.ErrorList{field.Invalid(path, string(name), "must be a standard resource for quota")}
}

// ValidateResourceQuotaUpdate validates an update. The scopes are immutable.
func ValidateResourceQuotaUpdate(q, old *corev1.ResourceQuota) field.ErrorList {
	errs := objectMetaUpdate(&q.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, quotaSpec(&q.Spec)...)
	now, before := slices.Clone(q.Spec.Scopes), slices.Clone(old.Spec.Scopes)
	slices.Sort(now)
	slices.Sort(before)
	if !slices.Equal(slices.Compact(now), slices.Compact(before)) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "scopes"), q.Spec.Scopes, apivalidation.FieldImmutableErrorMsg))
	}
	return errs
}

// ValidateResourceQuotaStatusUpdate validates the status.
func ValidateResourceQuotaStatusUpdate(q, old *corev1.ResourceQuota) field.ErrorList {
	errs := objectMetaUpdate(&q.ObjectMeta, &old.ObjectMeta)
	if q.ResourceVersion == "" {
		errs = append(errs, field.Required(metadataPath.Child("resourceVersion"), ""))
	}
	errs = append(errs, quotaList(q.Status.Hard, field.NewPath("status", "hard"))...)
	return append(errs, quotaList(q.Status.Used, field.NewPath("status", "used"))...)
}

// DefaultLimitRange sets default limits from maxima, and default requests from default limits or
// else minima.
func DefaultLimitRange(l *corev1.LimitRange) {
	for i := range l.Spec.Limits {
		item := &l.Spec.Limits[i]
		for _, list := range []corev1.ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
			podvalidation.DefaultResourceList(list)
		}
		if item.Type == corev1.LimitTypeContainer {
			inherit(&item.Default, item.Max)
			inherit(&item.DefaultRequest, item.Default)
			inherit(&item.DefaultRequest, item.Min)
		}
	}
}

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
	errs := objectMeta(&l.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	seen := map[corev1.LimitType]bool{}
	for i := range l.Spec.Limits {
		item, path := &l.Spec.Limits[i], field.NewPath("spec", "limits").Index(i)
		errs = append(errs, qualifiedName(string(item.Type), path.Child("type"))...)
		if seen[item.Type] {
			errs = append(errs, field.Duplicate(path.Child("type"), item.Type))
		}
		seen[item.Type] = true
		errs = append(errs, limitItem(item, path)...)
	}
	return errs
}

// ValidateLimitRangeUpdate validates an update.
func ValidateLimitRangeUpdate(l, _ *corev1.LimitRange) field.ErrorList {
	return ValidateLimitRange(l)
}

func limitItem(item *corev1.LimitRangeItem, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := map[corev1.ResourceName]bool{}
	list := func(list corev1.ResourceList, child string) {
		for _, name := range sortedKeys(list) {
			errs = append(errs, qualifiedName(string(name), path.Child(child).Key(string(name)))...)
			names[name] = true
		}
	}
	list(item.Max, "max")
	list(item.Min, "min")
	if item.Type == corev1.LimitTypePod {
		if len(item.Default) > 0 {
			errs = append(errs, field.Forbidden(path.Child("default"), "may not be specified when `type` is 'Pod'"))
		}
		if len(item.DefaultRequest) > 0 {
			errs = append(errs, field.Forbidden(path.Child("defaultRequest"), "may not be specified when `type` is 'Pod'"))
		}
	} else {
		list(item.Default, "default")
		list(item.DefaultRequest, "defaultRequest")
	}
	if item.Type == corev1.LimitTypePersistentVolumeClaim {
		_, least := item.Min[corev1.ResourceStorage]
		_, most := item.Max[corev1.ResourceStorage]
		if !least && !most {
			errs = append(errs, field.Required(path.Child("limits"), "either minimum or maximum storage value is required, but neither was provided"))
		}
	}
	list(item.MaxLimitRequestRatio, "maxLimitRequestRatio")
	for _, name := range sortedKeys(names) {
		errs = append(errs, limitOrder(item, name, path)...)
	}
	return errs
}

// limitOrder requires min <= default request <= default <= max for a resource, and a feasible
// ratio.
func limitOrder(item *corev1.LimitRangeItem, name corev1.ResourceName, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	ordered := func(low, high corev1.ResourceList, shown corev1.ResourceList, child, format string) {
		a, hasLow := low[name]
		b, hasHigh := high[name]
		if hasLow && hasHigh && a.Cmp(b) > 0 {
			value := shown[name]
			errs = append(errs, field.Invalid(path.Child(child).Key(string(name)), value, fmt.Sprintf(format, a.String(), b.String())))
		}
	}
	ordered(item.Min, item.Max, item.Min, "min", "min value %s is greater than max value %s")
	ordered(item.Min, item.DefaultRequest, item.DefaultRequest, "defaultRequest", "min value %s is greater than default request value %s")
	ordered(item.DefaultRequest, item.Max, item.DefaultRequest, "defaultRequest", "default request value %s is greater than max value %s")
	ordered(item.DefaultRequest, item.Default, item.DefaultRequest, "defaultRequest", "default request value %s is greater than default limit value %s")
	ordered(item.Min, item.Default, item.Min, "default", "min value %s is greater than default value %s")
	ordered(item.Default, item.Max, item.Max, "default", "default value %s is greater than max value %s")
	ratio, found := item.MaxLimitRequestRatio[name]
	if !found {
		return errs
	}
	at := path.Child("maxLimitRequestRatio").Key(string(name))
	if one := resource.MustParse("1"); ratio.Cmp(one) < 0 {
		errs = append(errs, field.Invalid(at, ratio, fmt.Sprintf("ratio %s is less than 1", ratio.String())))
	}
	least, hasMin := item.Min[name]
	most, hasMax := item.Max[name]
	if hasMin && hasMax && !least.IsZero() {
		if limit := most.AsApproximateFloat64() / least.AsApproximateFloat64(); ratio.AsApproximateFloat64() > limit {
			errs = append(errs, field.Invalid(at, ratio, fmt.Sprintf("ratio %s is greater than max/min = %f", ratio.String(), limit)))
		}
	}
	return errs
}
