package network

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

func validateSessionAffinity(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	childPath, configPath := path.Child("sessionAffinity"), path.Child("sessionAffinityConfig")
	switch spec.SessionAffinity {
	case "":
		return field.ErrorList{field.Required(childPath, "")}
	case corev1.ServiceAffinityClientIP:
		switch c := spec.SessionAffinityConfig; {
		case c == nil:
			return field.ErrorList{field.Required(configPath, "when session affinity type is ClientIP")}
		case c.ClientIP == nil:
			return field.ErrorList{field.Required(configPath.Child("clientIP"), "when session affinity type is ClientIP")}
		case c.ClientIP.TimeoutSeconds == nil:
			return field.ErrorList{field.Required(configPath.Child("clientIP", "timeoutSeconds"), "when session affinity type is ClientIP")}
		case *c.ClientIP.TimeoutSeconds <= 0 || *c.ClientIP.TimeoutSeconds > maxSessionSeconds:
			return field.ErrorList{field.Invalid(configPath.Child("clientIP", "timeoutSeconds"), *c.ClientIP.TimeoutSeconds,
				fmt.Sprintf("must be greater than 0 and less than %d", maxSessionSeconds))}
		}
		return nil
	case corev1.ServiceAffinityNone:
		if spec.SessionAffinityConfig != nil {
			return field.ErrorList{field.Forbidden(configPath, "must not be set when session affinity is None")}
		}
		return nil
	}
	return checks.OneOf(spec.SessionAffinity, childPath, corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)
}

func validateSourceRanges(s *corev1.Service, path *field.Path) field.ErrorList {
	const annotation = corev1.AnnotationLoadBalancerSourceRangesKey
	ranges, childPath := s.Spec.LoadBalancerSourceRanges, path.Child("loadBalancerSourceRanges")
	value, found := s.Annotations[annotation]
	if len(ranges) == 0 && (!found || strings.TrimSpace(value) == "") {
		return nil
	}
	if len(ranges) == 0 {
		ranges, childPath = strings.Split(strings.TrimSpace(value), ","), checks.MetadataPath.Child("annotations").Key(annotation)
	}
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return field.ErrorList{field.Forbidden(childPath, loadBalancerOnlyMsg)}
	}
	var errs field.ErrorList
	for i, cidr := range ranges {
		errs = append(errs, validation.IsValidCIDRForLegacyField(childPath.Index(i), strings.TrimSpace(cidr), false, nil)...)
	}
	return errs
}

func validateLoadBalancerFields(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	isLoadBalancer := spec.Type == corev1.ServiceTypeLoadBalancer
	switch childPath, ports := path.Child("allocateLoadBalancerNodePorts"), spec.AllocateLoadBalancerNodePorts; {
	case isLoadBalancer && ports == nil:
		errs = append(errs, field.Required(childPath, ""))
	case !isLoadBalancer && ports != nil:
		errs = append(errs, field.Forbidden(childPath, loadBalancerOnlyMsg))
	}
	switch childPath, class := path.Child("loadBalancerClass"), spec.LoadBalancerClass; {
	case class == nil:
	case isLoadBalancer:
		errs = append(errs, checks.QualifiedName(*class, childPath)...)
	default:
		errs = append(errs, field.Forbidden(childPath, loadBalancerOnlyMsg))
	}
	return errs
}

func validateTrafficPolicies(s *corev1.Service, path *field.Path) field.ErrorList {
	spec := &s.Spec
	var errs field.ErrorList
	switch childPath, isExternal := path.Child("externalTrafficPolicy"), isExternallyAccessible(spec); {
	case !isExternal && spec.ExternalTrafficPolicy != "":
		errs = append(errs, field.Invalid(childPath, spec.ExternalTrafficPolicy, "may only be set for externally-accessible services"))
	case isExternal && spec.ExternalTrafficPolicy == "":
		errs = append(errs, field.Required(childPath, ""))
	case isExternal:
		errs = append(errs, checks.OneOf(spec.ExternalTrafficPolicy, childPath, corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)...)
	}
	switch childPath, port := path.Child("healthCheckNodePort"), spec.HealthCheckNodePort; {
	case port == 0:
	case !NeedsHealthCheckNodePort(s):
		errs = append(errs, field.Invalid(childPath, port, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
	default:
		errs = append(errs, checks.PortNumber(port, childPath)...)
	}
	switch childPath := path.Child("internalTrafficPolicy"); {
	case spec.InternalTrafficPolicy != nil:
		errs = append(errs, checks.OneOf(*spec.InternalTrafficPolicy, childPath, corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)...)
	case spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer || spec.Type == corev1.ServiceTypeClusterIP:
		errs = append(errs, field.Required(childPath, ""))
	}
	if d := spec.TrafficDistribution; d != nil {
		errs = append(errs, checks.OneOf(*d, path.Child("trafficDistribution"), corev1.ServiceTrafficDistributionPreferClose,
			corev1.ServiceTrafficDistributionPreferSameNode, corev1.ServiceTrafficDistributionPreferSameZone)...)
	}
	return errs
}
