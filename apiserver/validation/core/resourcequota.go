package core

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/validation/checks"
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

// quotaScopes are the accepted scopes.
var quotaScopes = []corev1.ResourceQuotaScope{
	corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeBestEffort,
	corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity,
	corev1.ResourceQuotaScopeVolumeAttributesClass,
}

// DefaultResourceQuota rounds quantities up to a thousandth.
func DefaultResourceQuota(q *corev1.ResourceQuota) {
	poddefaults.DefaultResourceList(q.Spec.Hard)
	poddefaults.DefaultResourceList(q.Status.Hard)
	poddefaults.DefaultResourceList(q.Status.Used)
}

// ValidateResourceQuota validates a new quota.
func ValidateResourceQuota(q *corev1.ResourceQuota) field.ErrorList {
	return append(checks.ObjectMeta(&q.ObjectMeta, true, apivalidation.NameIsDNSSubdomain), validateQuotaSpec(&q.Spec)...)
}

func validateQuotaSpec(spec *corev1.ResourceQuotaSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateQuotaList(spec.Hard, path.Child("hard"))
	for _, scope := range spec.Scopes {
		if !slices.Contains(quotaScopes, scope) {
			errs = append(errs, field.Invalid(path.Child("scopes"), spec.Scopes, "unsupported scope"))
		}
		errs = append(errs, validateScopeOfResources(scope, spec, path.Child("scopes"), spec.Scopes)...)
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
		errs = append(errs, validateScopeSelector(spec, path.Child("scopeSelector", "matchExpressions"))...)
	}
	return errs
}

// validateScopeOfResources rejects a scope that the limited resources are never in. Resources outside the
// standard quota resources are not checked.
func validateScopeOfResources(scope corev1.ResourceQuotaScope, spec *corev1.ResourceQuotaSpec, path *field.Path, value any) field.ErrorList {
	for _, name := range checks.SortedKeys(spec.Hard) {
		if standardQuota[name] && !isInScope(name, scope) {
			return field.ErrorList{field.Invalid(path, value, "unsupported scope applied to resource")}
		}
	}
	return nil
}

func isInScope(name corev1.ResourceName, scope corev1.ResourceQuotaScope) bool {
	isClaim := name == corev1.ResourcePersistentVolumeClaims || name == corev1.ResourceRequestsStorage
	switch scope {
	case corev1.ResourceQuotaScopeBestEffort:
		return name == corev1.ResourcePods
	case corev1.ResourceQuotaScopeVolumeAttributesClass:
		return isClaim
	case corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeNotBestEffort,
		corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return !isClaim && !countedObjects[name]
	}
	return true
}

// countedObjects are the standard quota resources that count objects other than pods and claims.
var countedObjects = map[corev1.ResourceName]bool{
	corev1.ResourceQuotas: true, corev1.ResourceServices: true, corev1.ResourceReplicationControllers: true, corev1.ResourceSecrets: true,
	corev1.ResourceConfigMaps: true, corev1.ResourceServicesNodePorts: true, corev1.ResourceServicesLoadBalancers: true,
}

func validateScopeSelector(spec *corev1.ResourceQuotaSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, e := range spec.ScopeSelector.MatchExpressions {
		itemPath := path.Index(i)
		if !slices.Contains(quotaScopes, e.ScopeName) {
			errs = append(errs, field.Invalid(itemPath.Child("scopeName"), e.ScopeName, "unsupported scope"))
		}
		errs = append(errs, validateScopeOfResources(e.ScopeName, spec, itemPath.Child("scopeName"), e.ScopeName)...)
		if e.ScopeName != corev1.ResourceQuotaScopePriorityClass && e.ScopeName != corev1.ResourceQuotaScopeVolumeAttributesClass && e.Operator != corev1.ScopeSelectorOpExists {
			errs = append(errs, field.Invalid(itemPath.Child("operator"), e.Operator,
				"must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"))
		}
		switch e.Operator {
		case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
			if len(e.Values) == 0 {
				errs = append(errs, field.Required(itemPath.Child("values"), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"))
			}
		case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
			if len(e.Values) != 0 {
				errs = append(errs, field.Invalid(itemPath.Child("values"), e.Values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"))
			}
		default:
			errs = append(errs, field.Invalid(itemPath.Child("operator"), e.Operator, "not a valid selector operator"))
		}
	}
	return errs
}

func validateQuotaList(list corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range checks.SortedKeys(list) {
		itemPath := path.Key(string(name))
		errs = append(errs, validateQuotaName(name, itemPath)...)
		errs = append(errs, podvalidation.ValidateResourceQuantityValue(name, list[name], itemPath)...)
	}
	return errs
}

func validateQuotaName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs := checks.QualifiedName(string(name), path)
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
	errs := checks.ObjectMetaUpdate(&q.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateQuotaSpec(&q.Spec)...)
	scopes, oldScopes := slices.Clone(q.Spec.Scopes), slices.Clone(old.Spec.Scopes)
	slices.Sort(scopes)
	slices.Sort(oldScopes)
	if !slices.Equal(slices.Compact(scopes), slices.Compact(oldScopes)) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "scopes"), q.Spec.Scopes, apivalidation.FieldImmutableErrorMsg))
	}
	return errs
}

// ValidateResourceQuotaStatusUpdate validates the status.
func ValidateResourceQuotaStatusUpdate(q, old *corev1.ResourceQuota) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&q.ObjectMeta, &old.ObjectMeta)
	if q.ResourceVersion == "" {
		errs = append(errs, field.Required(checks.MetadataPath.Child("resourceVersion"), ""))
	}
	errs = append(errs, validateQuotaList(q.Status.Hard, field.NewPath("status", "hard"))...)
	return append(errs, validateQuotaList(q.Status.Used, field.NewPath("status", "used"))...)
}
