package core

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// DefaultNode syncs podCIDR and podCIDRs, rounds quantities up to a thousandth, and sets allocatable to
// capacity if it is unset.
func DefaultNode(node *corev1.Node) {
	spec := &node.Spec
	switch {
	case spec.PodCIDR == "" && len(spec.PodCIDRs) > 0:
		spec.PodCIDR = spec.PodCIDRs[0]
	case spec.PodCIDR != "" && (len(spec.PodCIDRs) == 0 || spec.PodCIDRs[0] != spec.PodCIDR):
		spec.PodCIDRs = []string{spec.PodCIDR}
	}
	poddefaults.DefaultResourceList(node.Status.Capacity)
	poddefaults.DefaultResourceList(node.Status.Allocatable)
	if node.Status.Allocatable == nil && len(node.Status.Capacity) > 0 {
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	}
}

// PrepareNodeForCreate clears configSource of the removed dynamic kubelet configuration.
func PrepareNodeForCreate(node *corev1.Node) {
	node.Spec.ConfigSource = nil //nolint:staticcheck // the deprecated API is still served
}

// PrepareNodeForUpdate clears configSource unless the stored object has it.
func PrepareNodeForUpdate(node, old *corev1.Node) {
	if old.Spec.ConfigSource == nil { //nolint:staticcheck // the deprecated API is still served
		node.Spec.ConfigSource = nil //nolint:staticcheck // the deprecated API is still served
	}
}

// PrepareNodeStatusUpdate clears the status of dynamic kubelet configuration unless the stored
// object has it.
func PrepareNodeStatusUpdate(node, old *corev1.Node) {
	if old.Status.Config == nil {
		node.Status.Config = nil
	}
}

// ValidateNode validates a new node.
func ValidateNode(node *corev1.Node) field.ErrorList {
	errs := checks.ObjectMeta(&node.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateNodeTaints(node.Spec.Taints)...)
	errs = append(errs, validateNodeResources(node)...)
	return append(errs, validatePodCIDRs(node.Spec.PodCIDRs)...)
}

// ValidateNodeUpdate validates an update of spec or metadata. As in kube-apiserver, errors of
// taints are reported twice.
func ValidateNodeUpdate(node, old *corev1.Node) field.ErrorList {
	return append(ValidateNode(node), validateNodeChange(node, old)...)
}

// ValidateNodeStatusUpdate validates an update of the status.
func ValidateNodeStatusUpdate(node, old *corev1.Node) field.ErrorList {
	return validateNodeChange(node, old)
}

func validateNodeChange(node, old *corev1.Node) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&node.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateNodeResources(node)...)
	seen := map[corev1.NodeAddress]bool{}
	for i, address := range node.Status.Addresses {
		if seen[address] {
			// kube-apiserver prints its internal type.
			printable := struct {
				Type    corev1.NodeAddressType
				Address string
			}{address.Type, address.Address}
			errs = append(errs, field.Duplicate(field.NewPath("status", "addresses").Index(i), printable))
		}
		seen[address] = true
	}
	specPath := field.NewPath("spec")
	const podCIDRMsg = `node updates may not change podCIDR except from "" to valid`
	switch oldCIDRs, cidrs := old.Spec.PodCIDRs, node.Spec.PodCIDRs; {
	case len(oldCIDRs) == 0:
	case len(oldCIDRs) != len(cidrs):
		errs = append(errs, field.Forbidden(specPath.Child("podCIDRs"), podCIDRMsg))
	default:
		for i := range oldCIDRs {
			if oldCIDRs[i] != cidrs[i] {
				errs = append(errs, field.Forbidden(specPath.Child("podCIDRs"), podCIDRMsg))
			}
		}
	}
	if old.Spec.ProviderID != "" && old.Spec.ProviderID != node.Spec.ProviderID {
		errs = append(errs, field.Forbidden(specPath.Child("providerID"), `node updates may not change providerID except from "" to valid`))
	}
	errs = append(errs, validateConfigSource(node.Spec.ConfigSource, specPath.Child("configSource"))...) //nolint:staticcheck // the deprecated API is still served
	errs = append(errs, validateNodeTaints(node.Spec.Taints)...)
	if node.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID {
		errs = append(errs, field.Forbidden(specPath.Child("externalID"), "may not be updated"))
	}
	return errs
}

// validateNodeTaints reports errors at metadata.taints, as kube-apiserver does.
func validateNodeTaints(taints []corev1.Taint) field.ErrorList {
	return podvalidation.ValidateTaints(taints, checks.MetadataPath.Child("taints"))
}

func validateNodeResources(node *corev1.Node) field.ErrorList {
	errs := validateNodeQuantities(node.Status.Capacity, field.NewPath("status", "capacity"))
	return append(errs, validateNodeQuantities(node.Status.Allocatable, field.NewPath("status", "allocatable"))...)
}

func validateNodeQuantities(list corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range checks.SortedKeys(list) {
		errs = append(errs, podvalidation.ValidateResourceQuantityValue(name, list[name], path.Child(string(name)))...)
	}
	return errs
}

func validatePodCIDRs(cidrs []string) field.ErrorList {
	if len(cidrs) == 0 {
		return nil
	}
	var errs field.ErrorList
	path := field.NewPath("spec", "podCIDRs")
	for i, cidr := range cidrs {
		errs = append(errs, validation.IsValidCIDRForLegacyField(path.Index(i), cidr, false, nil)...)
	}
	if len(cidrs) < 2 {
		return errs
	}
	isDual, err := utilsnet.IsDualStackCIDRStrings(cidrs)
	if err != nil {
		errs = append(errs, field.InternalError(path, fmt.Errorf("invalid PodCIDRs. failed to check with dual stack with error:%w", err)))
	}
	if !isDual || len(cidrs) > 2 {
		errs = append(errs, field.Invalid(path, cidrs, "may specify no more than one CIDR for each IP family"))
	}
	return errs
}

// validateConfigSource validates the spec of the removed dynamic kubelet configuration, which is still
// stored.
func validateConfigSource(source *corev1.NodeConfigSource, path *field.Path) field.ErrorList {
	if source == nil {
		return nil
	}
	if source.ConfigMap == nil {
		return field.ErrorList{field.Invalid(path, source, "exactly one reference subfield must be non-nil")}
	}
	ref, path := source.ConfigMap, path.Child("configMap")
	var errs field.ErrorList
	for _, forbidden := range []struct{ name, value string }{{"uid", string(ref.UID)}, {"resourceVersion", ref.ResourceVersion}} {
		if forbidden.value != "" {
			errs = append(errs, field.Forbidden(path.Child(forbidden.name), forbidden.name+" must not be set in spec"))
		}
	}
	for _, required := range []struct {
		name, value string
		check       func(string, bool) []string
	}{
		{"kubeletConfigKey", ref.KubeletConfigKey, func(v string, _ bool) []string { return validation.IsConfigMapKey(v) }},
		{"name", ref.Name, apivalidation.NameIsDNSSubdomain},
		{"namespace", ref.Namespace, apivalidation.ValidateNamespaceName},
	} {
		if required.value == "" {
			errs = append(errs, field.Required(path.Child(required.name), required.name+" must be set"))
			continue
		}
		errs = append(errs, checks.InvalidEach(path.Child(required.name), required.value, required.check(required.value, false))...)
	}
	return errs
}

// NodeWarnings warns of ignored fields and of pod CIDRs in a non-canonical form.
func NodeWarnings(_ context.Context, node, _ *corev1.Node) []string {
	var warnings []string
	if node.Spec.ConfigSource != nil { //nolint:staticcheck // the deprecated API is still served
		warnings = append(warnings, "spec.configSource: the feature is removed")
	}
	if node.Spec.DoNotUseExternalID != "" {
		warnings = append(warnings, "spec.externalID: this field is deprecated, and is unused by Kubernetes")
	}
	for i, cidr := range node.Spec.PodCIDRs {
		warnings = append(warnings, validation.GetWarningsForCIDR(field.NewPath("spec", "podCIDRs").Index(i), cidr)...)
	}
	return warnings
}
