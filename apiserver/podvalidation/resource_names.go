package podvalidation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// Unqualified resource names that the API defines.
var (
	containerResourceNames = []corev1.ResourceName{"cpu", "memory", "ephemeral-storage"}
	// integerResourceNames are resources that are counted in whole units.
	integerResourceNames = []corev1.ResourceName{
		"pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
		"persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
	}
	standardResourceNames = append([]corev1.ResourceName{
		"cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
		"limits.cpu", "limits.memory", "limits.ephemeral-storage", "storage", "requests.storage",
	}, integerResourceNames...)
)

// isNative reports whether Kubernetes defines the resource.
func isNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// isExtended reports whether the name is a valid extended resource name.
func isExtended(name corev1.ResourceName) bool {
	if isNative(name) || strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) {
		return false
	}
	return len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) == 0
}

// canOvercommit reports whether requests may be lower than limits.
func canOvercommit(name corev1.ResourceName) bool {
	return isNative(name) && !podfields.IsHugePage(name)
}

func isStandard(name corev1.ResourceName) bool {
	return slices.Contains(standardResourceNames, name) || podfields.IsHugePage(name) ||
		strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

// validateResourceName requires a standard or a fully qualified resource name.
func validateResourceName(r *errorCollector, name corev1.ResourceName, path *field.Path) {
	if reasons := validation.IsQualifiedName(string(name)); len(reasons) > 0 {
		r.invalidEach(path, name, reasons)
		return
	}
	if !strings.Contains(string(name), "/") && !isStandard(name) {
		r.invalid(path, name, "must be a standard resource type or fully qualified")
	}
}

// validateContainerResourceName requires a resource that containers support.
func validateContainerResourceName(r *errorCollector, name corev1.ResourceName, path *field.Path) {
	validateResourceName(r, name, path)
	switch {
	case !strings.Contains(string(name), "/"):
		if !slices.Contains(containerResourceNames, name) && !podfields.IsHugePage(name) {
			r.invalid(path, name, "must be a standard resource for containers")
		}
	case !isNative(name) && !isExtended(name):
		r.invalid(path, name, "doesn't follow extended resource name standard")
	}
}

// validatePodResourceName requires a resource that pod-level resources support.
func validatePodResourceName(r *errorCollector, name corev1.ResourceName, path *field.Path) {
	if !resourcehelper.IsSupportedPodLevelResource(name) {
		supported := resourcehelper.SupportedPodLevelResources().UnsortedList()
		slices.Sort(supported)
		r.add(field.NotSupported(path, name, supported))
	}
}

// ValidateResourceQuantityValue requires a non-negative quantity, and an integer for resources that
// are counted in whole units.
func ValidateResourceQuantityValue(name corev1.ResourceName, value resource.Quantity, path *field.Path) field.ErrorList {
	var r errorCollector
	r.validateQuantity(name, value, path)
	return r.errs
}

func (c *errorCollector) validateQuantity(name corev1.ResourceName, value resource.Quantity, path *field.Path) {
	if value.Sign() < 0 {
		c.invalid(path, value.String(), "must be greater than or equal to 0")
	}
	if (slices.Contains(integerResourceNames, name) || isExtended(name)) && value.MilliValue()%1000 != 0 {
		c.invalid(path, value, "must be an integer")
	}
}
