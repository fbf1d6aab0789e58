package podvalidation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Resource names without a domain that mean something somewhere in the API.
var (
	containerResourceNames = []corev1.ResourceName{"cpu", "memory", "ephemeral-storage"}
	// integerResourceNames are resources that come in whole pieces.
	integerResourceNames = []corev1.ResourceName{
		"pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
		"persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
	}
	standardResourceNames = append([]corev1.ResourceName{
		"cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
		"limits.cpu", "limits.memory", "limits.ephemeral-storage", "storage", "requests.storage",
	}, integerResourceNames...)
)

func isHugePage(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// isNative says whether Kubernetes itself defines the resource, and not a device vendor.
func isNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// isExtended says whether the resource is a vendor's, under a name that a quota can refer to.
func isExtended(name corev1.ResourceName) bool {
	if isNative(name) || strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) {
		return false
	}
	return len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) == 0
}

// canOvercommit says whether requests may stay below limits.
func canOvercommit(name corev1.ResourceName) bool { return isNative(name) && !isHugePage(name) }

func isStandard(name corev1.ResourceName) bool {
	return slices.Contains(standardResourceNames, name) || isHugePage(name) ||
		strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

// resourceName wants a qualified name, with a domain unless it is a standard one.
func resourceName(r *errorCollector, name corev1.ResourceName, path *field.Path) {
	if reasons := validation.IsQualifiedName(string(name)); len(reasons) > 0 {
		r.invalidEach(path, name, reasons)
		return
	}
	if !strings.Contains(string(name), "/") && !isStandard(name) {
		r.invalid(path, name, "must be a standard resource type or fully qualified")
	}
}

// containerResourceName narrows resourceName down to what a container can ask for.
func containerResourceName(r *errorCollector, name corev1.ResourceName, path *field.Path) {
	resourceName(r, name, path)
	switch {
	case !strings.Contains(string(name), "/"):
		if !slices.Contains(containerResourceNames, name) && !isHugePage(name) {
			r.invalid(path, name, "must be a standard resource for containers")
		}
	case !isNative(name) && !isExtended(name):
		r.invalid(path, name, "doesn't follow extended resource name standard")
	}
}

// podResourceName admits what can be given for a pod as a whole.
func podResourceName(r *errorCollector, name corev1.ResourceName, path *field.Path) {
	if !resourcehelper.IsSupportedPodLevelResource(name) {
		supported := resourcehelper.SupportedPodLevelResources().UnsortedList()
		slices.Sort(supported)
		r.add(field.NotSupported(path, name, supported))
	}
}

// ValidateResourceQuantityValue wants a quantity that is not negative, and whole for what comes in pieces.
func ValidateResourceQuantityValue(name corev1.ResourceName, value resource.Quantity, path *field.Path) field.ErrorList {
	var r errorCollector
	r.quantity(name, value, path)
	return r.errs
}

func (r *errorCollector) quantity(name corev1.ResourceName, value resource.Quantity, path *field.Path) {
	if value.Sign() < 0 {
		r.invalid(path, value.String(), "must be greater than or equal to 0")
	}
	if (slices.Contains(integerResourceNames, name) || isExtended(name)) && value.MilliValue()%1000 != 0 {
		r.invalid(path, value, "must be an integer")
	}
}
