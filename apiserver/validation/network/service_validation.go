package network

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

const (
	kubeletPort = 10250
	// maxSessionSeconds is the maximum timeout of client IP affinity, one day.
	maxSessionSeconds   = 24 * 60 * 60
	loadBalancerOnlyMsg = "may only be used when `type` is 'LoadBalancer'"
)

var protocols = []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}

// ValidateService validates a new service before allocation.
func ValidateService(s *corev1.Service) field.ErrorList {
	spec, path := &s.Spec, field.NewPath("spec")
	errs := checks.ObjectMeta(&s.ObjectMeta, true, apivalidation.NameIsDNSLabel)
	if len(spec.Ports) == 0 && !isHeadless(spec) && spec.Type != corev1.ServiceTypeExternalName {
		errs = append(errs, field.Required(path.Child("ports"), ""))
	}
	errs = append(errs, validateServiceType(spec, path)...)
	names := sets.New[string]()
	for i := range spec.Ports {
		errs = append(errs, validateServicePort(&spec.Ports[i], len(spec.Ports) > 1, names, path.Child("ports").Index(i))...)
	}
	if spec.Selector != nil {
		errs = append(errs, metavalidation.ValidateLabels(spec.Selector, path.Child("selector"))...)
	}
	errs = append(errs, validateSessionAffinity(spec, path)...)
	errs = append(errs, validateClusterIPs(spec, path)...)
	for i, ip := range spec.ExternalIPs {
		errs = append(errs, validateEndpointIP(ip, path.Child("externalIPs").Index(i))...)
	}
	if spec.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), ""))
	} else {
		errs = append(errs, checks.OneOf(spec.Type, path.Child("type"), corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName,
			corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)...)
	}
	errs = append(errs, validateDistinctPorts(spec, path.Child("ports"))...)
	errs = append(errs, validateSourceRanges(s, path)...)
	errs = append(errs, validateLoadBalancerFields(spec, path)...)
	return append(errs, validateTrafficPolicies(s, path)...)
}

func validateServiceType(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	rejectHeadless := func() {
		if isHeadless(spec) {
			errs = append(errs, field.Invalid(path.Child("clusterIPs").Index(0), spec.ClusterIPs[0],
				fmt.Sprintf("may not be set to 'None' for %s services", spec.Type)))
		}
	}
	switch spec.Type {
	case corev1.ServiceTypeLoadBalancer:
		for i, p := range spec.Ports {
			if p.Port == kubeletPort {
				errs = append(errs, field.Invalid(path.Child("ports").Index(i), p.Port,
					fmt.Sprintf("may not expose port %d externally since it is used by kubelet", kubeletPort)))
			}
		}
		rejectHeadless()
	case corev1.ServiceTypeNodePort:
		rejectHeadless()
	case corev1.ServiceTypeExternalName:
		forbid := func(isSet bool, name string) {
			if isSet {
				errs = append(errs, field.Forbidden(path.Child(name), "may not be set for ExternalName services"))
			}
		}
		forbid(len(spec.ClusterIPs) > 0, "clusterIPs")
		forbid(len(spec.IPFamilies) > 0, "ipFamilies")
		forbid(spec.IPFamilyPolicy != nil, "ipFamilyPolicy")
		if name := strings.TrimSuffix(spec.ExternalName, "."); name == "" {
			errs = append(errs, field.Required(path.Child("externalName"), ""))
		} else {
			errs = append(errs, checks.DNSSubdomain(name, path.Child("externalName"))...)
		}
	}
	return errs
}

// validateClusterIPs validates cluster IPs and IP families against each other.
func validateClusterIPs(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	if spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	childPath, familiesPath := path.Child("clusterIPs"), path.Child("ipFamilies")
	var errs field.ErrorList
	switch {
	case spec.ClusterIP == "" && len(spec.ClusterIPs) > 0:
		errs = append(errs, field.Invalid(childPath, spec.ClusterIPs, "must be empty when `clusterIP` is not specified"))
	case spec.ClusterIP != "" && (len(spec.ClusterIPs) == 0 || spec.ClusterIPs[0] != spec.ClusterIP):
		errs = append(errs, field.Invalid(childPath, spec.ClusterIPs, "first value must match `clusterIP`"))
	}
	for i, family := range spec.IPFamilies {
		errs = append(errs, checks.OneOf(family, familiesPath.Index(i), corev1.IPv4Protocol, corev1.IPv6Protocol)...)
		if slices.Contains(spec.IPFamilies[:i], family) {
			errs = append(errs, field.Duplicate(familiesPath.Index(i), family))
		}
	}
	if p := spec.IPFamilyPolicy; p != nil {
		errs = append(errs, checks.OneOf(*p, path.Child("ipFamilyPolicy"), corev1.IPFamilyPolicyPreferDualStack,
			corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack)...)
	}
	hasInvalid := false
	for i, ip := range spec.ClusterIPs {
		if i == 0 && ip == corev1.ClusterIPNone {
			if len(spec.ClusterIPs) > 1 {
				hasInvalid = true
				errs = append(errs, field.Invalid(childPath, spec.ClusterIPs, "'None' must be the first and only value"))
			}
			continue
		}
		invalid := validation.IsValidIPForLegacyField(childPath.Index(i), ip, false, nil)
		hasInvalid = hasInvalid || len(invalid) > 0
		errs = append(errs, invalid...)
	}
	if len(spec.ClusterIPs) > 2 {
		errs = append(errs, field.Invalid(childPath, spec.ClusterIPs, "may only hold up to 2 values"))
	}
	if hasInvalid {
		return errs
	}
	if len(spec.ClusterIPs) > 1 {
		if isDual, err := utilsnet.IsDualStackIPStrings(spec.ClusterIPs); err != nil || !isDual {
			errs = append(errs, field.Invalid(childPath, spec.ClusterIPs, "may specify no more than one IP for each IP family"))
		}
	}
	if isHeadless(spec) || len(errs) > 0 {
		return errs
	}
	for i := range min(len(spec.ClusterIPs), len(spec.IPFamilies)) {
		if isV6 := utilsnet.IsIPv6String(spec.ClusterIPs[i]); isV6 != (spec.IPFamilies[i] == corev1.IPv6Protocol) {
			errs = append(errs, field.Invalid(childPath.Index(i), spec.ClusterIPs[i],
				fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%d]`", spec.IPFamilies[i], i)))
		}
	}
	return errs
}
