package network

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// ValidateServiceUpdate validates an update. Cluster IPs and IP families are immutable, except for
// changes from and to type ExternalName.
func ValidateServiceUpdate(s, old *corev1.Service) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&s.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("spec")
	if NeedsClusterIP(s) && NeedsClusterIP(old) {
		errs = append(errs, clusterIPsUnchanged(s, old, path.Child("clusterIPs"))...)
		errs = append(errs, ipFamiliesUnchanged(s, old, path.Child("ipFamilies"))...)
	}
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer && old.Spec.Type == corev1.ServiceTypeLoadBalancer {
		errs = append(errs, checks.Immutable(s.Spec.LoadBalancerClass, old.Spec.LoadBalancerClass, path.Child("loadBalancerClass"))...)
	}
	return append(errs, ValidateService(s)...)
}

func singleStack(spec *corev1.ServiceSpec) bool {
	return spec.IPFamilyPolicy == nil || *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack
}

// clusterIPsUnchanged allows adding and removing the secondary cluster IP. The primary one is
// Immutable.
func clusterIPsUnchanged(s, old *corev1.Service, path *field.Path) field.ErrorList {
	now, was := s.Spec.ClusterIPs, old.Spec.ClusterIPs
	var errs field.ErrorList
	if len(was) > 0 && len(now) == 0 {
		return field.ErrorList{field.Invalid(path.Index(0), now, "primary clusterIP can not be unset")}
	}
	if len(was) > 0 && now[0] != was[0] {
		errs = append(errs, field.Invalid(path.Index(0), now, "may not change once set"))
	}
	if len(was) < 2 || isHeadless(&old.Spec) {
		return errs
	}
	switch {
	case len(now) == 1 && !singleStack(&s.Spec):
		errs = append(errs, field.Required(field.NewPath("spec", "ipFamilyPolicy"), "must be set to 'SingleStack' when releasing the secondary clusterIP"))
	case len(now) == 2 && now[1] != was[1]:
		errs = append(errs, field.Invalid(path.Index(1), now, "may not change once set"))
	}
	return errs
}

func ipFamiliesUnchanged(s, old *corev1.Service, path *field.Path) field.ErrorList {
	now, was := s.Spec.IPFamilies, old.Spec.IPFamilies
	var errs field.ErrorList
	switch {
	case len(was) > 0 && len(now) == 0:
		return field.ErrorList{field.Invalid(path.Index(0), now, "primary ipFamily can not be unset")}
	case len(was) > 0 && now[0] != was[0]:
		errs = append(errs, field.Invalid(path.Index(0), now, "may not change once set"))
	}
	if len(was) == 2 && len(now) == 2 && now[1] != was[1] {
		errs = append(errs, field.Invalid(path.Index(1), now, "may not change once set"))
	}
	return errs
}

// ValidateServiceStatusUpdate validates the load balancer status.
func ValidateServiceStatusUpdate(s, old *corev1.Service) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&s.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status", "loadBalancer", "ingress")
	if len(s.Status.LoadBalancer.Ingress) > 0 && s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return append(errs, field.Forbidden(path, "may only be used when `spec.type` is \"LoadBalancer\""))
	}
	for i, in := range s.Status.LoadBalancer.Ingress {
		at := path.Index(i)
		if in.IP != "" {
			errs = append(errs, validation.IsValidIPForLegacyField(at.Child("ip"), in.IP, false, nil)...)
		}
		switch mode := at.Child("ipMode"); {
		case in.IPMode == nil && in.IP != "":
			errs = append(errs, field.Required(mode, "must be specified when `ip` is set"))
		case in.IPMode != nil && in.IP == "":
			errs = append(errs, field.Forbidden(mode, "may not be specified when `ip` is not set"))
		case in.IPMode != nil:
			errs = append(errs, checks.OneOf(*in.IPMode, mode, corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP)...)
		}
		if in.Hostname == "" {
			continue
		}
		errs = append(errs, checks.DnsSubdomain(in.Hostname, at.Child("hostname"))...)
		if utilsnet.ParseIPSloppy(in.Hostname) != nil {
			errs = append(errs, field.Invalid(at.Child("hostname"), in.Hostname, "must be a DNS name, not an IP address"))
		}
	}
	return errs
}

// ServiceWarnings warns of non-canonical addresses and of fields without effect.
func ServiceWarnings(_ context.Context, s, old *corev1.Service) []string {
	if s.DeletionTimestamp != nil {
		return nil
	}
	var warnings []string
	spec := field.NewPath("spec")
	if _, found := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]; found {
		warnings = append(warnings, fmt.Sprintf("annotation %s is deprecated, please use %s instead",
			corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode))
	}
	if !isHeadless(&s.Spec) {
		for i, ip := range s.Spec.ClusterIPs {
			warnings = append(warnings, validation.GetWarningsForIP(spec.Child("clusterIPs").Index(i), ip)...)
		}
	}
	for i, ip := range s.Spec.ExternalIPs {
		warnings = append(warnings, validation.GetWarningsForIP(spec.Child("externalIPs").Index(i), ip)...)
	}
	if s.Spec.LoadBalancerIP != "" {
		warnings = append(warnings, validation.GetWarningsForIP(spec.Child("loadBalancerIP"), s.Spec.LoadBalancerIP)...)
	}
	for i, cidr := range s.Spec.LoadBalancerSourceRanges {
		warnings = append(warnings, validation.GetWarningsForCIDR(spec.Child("loadBalancerSourceRanges").Index(i), cidr)...)
	}
	if s.Spec.Type == corev1.ServiceTypeExternalName && len(s.Spec.ExternalIPs) > 0 {
		warnings = append(warnings, fmt.Sprintf("spec.externalIPs is ignored when spec.type is %q", corev1.ServiceTypeExternalName))
	}
	if s.Spec.Type != corev1.ServiceTypeExternalName && s.Spec.ExternalName != "" {
		warnings = append(warnings, fmt.Sprintf("spec.externalName is ignored when spec.type is not %q", corev1.ServiceTypeExternalName))
	}
	return append(warnings, headlessWarnings(s, old)...)
}

func headlessWarnings(s, old *corev1.Service) []string {
	if !isHeadless(&s.Spec) || (old != nil && checks.SemanticEqual(old.Spec, s.Spec)) {
		return nil
	}
	var warnings []string
	if s.Spec.LoadBalancerIP != "" {
		warnings = append(warnings, "spec.loadBalancerIP is ignored for headless services")
	}
	if len(s.Spec.ExternalIPs) > 0 {
		warnings = append(warnings, "spec.externalIPs is ignored for headless services")
	}
	if s.Spec.SessionAffinity != corev1.ServiceAffinityNone {
		warnings = append(warnings, "spec.SessionAffinity is ignored for headless services")
	}
	return warnings
}
