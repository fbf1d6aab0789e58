package network

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// ValidateServiceUpdate validates an update. The primary cluster IP and IP family are immutable, except
// for changes from and to type ExternalName.
func ValidateServiceUpdate(s, old *corev1.Service) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&s.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("spec")
	if NeedsClusterIP(s) && NeedsClusterIP(old) {
		errs = append(errs, validateClusterIPsUnchanged(s, old, path.Child("clusterIPs"))...)
		errs = append(errs, validateIPFamiliesUnchanged(s, old, path.Child("ipFamilies"))...)
	}
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer && old.Spec.Type == corev1.ServiceTypeLoadBalancer {
		errs = append(errs, checks.Immutable(s.Spec.LoadBalancerClass, old.Spec.LoadBalancerClass, path.Child("loadBalancerClass"))...)
	}
	return append(errs, ValidateService(s)...)
}

func isSingleStack(spec *corev1.ServiceSpec) bool {
	return spec.IPFamilyPolicy == nil || *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack
}

// validateClusterIPsUnchanged allows adding and removing the secondary cluster IP. The primary one is
// immutable.
func validateClusterIPsUnchanged(s, old *corev1.Service, path *field.Path) field.ErrorList {
	ips, oldIPs := s.Spec.ClusterIPs, old.Spec.ClusterIPs
	var errs field.ErrorList
	if len(oldIPs) > 0 && len(ips) == 0 {
		return field.ErrorList{field.Invalid(path.Index(0), ips, "primary clusterIP can not be unset")}
	}
	if len(oldIPs) > 0 && ips[0] != oldIPs[0] {
		errs = append(errs, field.Invalid(path.Index(0), ips, "may not change once set"))
	}
	if len(oldIPs) < 2 || isHeadless(&old.Spec) {
		return errs
	}
	switch {
	case len(ips) == 1 && !isSingleStack(&s.Spec):
		errs = append(errs, field.Required(field.NewPath("spec", "ipFamilyPolicy"), "must be set to 'SingleStack' when releasing the secondary clusterIP"))
	case len(ips) == 2 && ips[1] != oldIPs[1]:
		errs = append(errs, field.Invalid(path.Index(1), ips, "may not change once set"))
	}
	return errs
}

func validateIPFamiliesUnchanged(s, old *corev1.Service, path *field.Path) field.ErrorList {
	families, oldFamilies := s.Spec.IPFamilies, old.Spec.IPFamilies
	var errs field.ErrorList
	switch {
	case len(oldFamilies) > 0 && len(families) == 0:
		return field.ErrorList{field.Invalid(path.Index(0), families, "primary ipFamily can not be unset")}
	case len(oldFamilies) > 0 && families[0] != oldFamilies[0]:
		errs = append(errs, field.Invalid(path.Index(0), families, "may not change once set"))
	}
	if len(oldFamilies) == 2 && len(families) == 2 && families[1] != oldFamilies[1] {
		errs = append(errs, field.Invalid(path.Index(1), families, "may not change once set"))
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
		itemPath := path.Index(i)
		if in.IP != "" {
			errs = append(errs, validation.IsValidIPForLegacyField(itemPath.Child("ip"), in.IP, false, nil)...)
		}
		switch modePath := itemPath.Child("ipMode"); {
		case in.IPMode == nil && in.IP != "":
			errs = append(errs, field.Required(modePath, "must be specified when `ip` is set"))
		case in.IPMode != nil && in.IP == "":
			errs = append(errs, field.Forbidden(modePath, "may not be specified when `ip` is not set"))
		case in.IPMode != nil:
			errs = append(errs, checks.OneOf(*in.IPMode, modePath, corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP)...)
		}
		if in.Hostname == "" {
			continue
		}
		errs = append(errs, checks.DNSSubdomain(in.Hostname, itemPath.Child("hostname"))...)
		if utilsnet.ParseIPSloppy(in.Hostname) != nil {
			errs = append(errs, field.Invalid(itemPath.Child("hostname"), in.Hostname, "must be a DNS name, not an IP address"))
		}
	}
	return errs
}
