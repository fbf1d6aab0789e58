package network

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// ServiceWarnings warns of a deprecated annotation, of non-canonical addresses and of fields without effect.
func ServiceWarnings(_ context.Context, s, old *corev1.Service) []string {
	if s.DeletionTimestamp != nil {
		return nil
	}
	var warnings []string
	specPath := field.NewPath("spec")
	if _, found := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]; found {
		warnings = append(warnings, fmt.Sprintf("annotation %s is deprecated, please use %s instead",
			corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode))
	}
	if !isHeadless(&s.Spec) {
		for i, ip := range s.Spec.ClusterIPs {
			warnings = append(warnings, validation.GetWarningsForIP(specPath.Child("clusterIPs").Index(i), ip)...)
		}
	}
	for i, ip := range s.Spec.ExternalIPs {
		warnings = append(warnings, validation.GetWarningsForIP(specPath.Child("externalIPs").Index(i), ip)...)
	}
	if s.Spec.LoadBalancerIP != "" {
		warnings = append(warnings, validation.GetWarningsForIP(specPath.Child("loadBalancerIP"), s.Spec.LoadBalancerIP)...)
	}
	for i, cidr := range s.Spec.LoadBalancerSourceRanges {
		warnings = append(warnings, validation.GetWarningsForCIDR(specPath.Child("loadBalancerSourceRanges").Index(i), cidr)...)
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
