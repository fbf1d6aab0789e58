package network

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

const (
	kubeletPort       = 10250
	maxSessionSeconds = 24 * 60 * 60
	balancerOnly      = "may only be used when `type` is 'LoadBalancer'"
)

var protocols = []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}

// ValidateService validates a new service before allocation.
func ValidateService(s *corev1.Service) field.ErrorList {
	spec, path := &s.Spec, field.NewPath("spec")
	errs := checks.ObjectMeta(&s.ObjectMeta, true, apivalidation.NameIsDNSLabel)
	if len(spec.Ports) == 0 && !isHeadless(spec) && spec.Type != corev1.ServiceTypeExternalName {
		errs = append(errs, field.Required(path.Child("ports"), ""))
	}
	errs = append(errs, serviceType(spec, path)...)
	names := sets.New[string]()
	for i := range spec.Ports {
		errs = append(errs, servicePort(&spec.Ports[i], len(spec.Ports) > 1, names, path.Child("ports").Index(i))...)
	}
	if spec.Selector != nil {
		errs = append(errs, metavalidation.ValidateLabels(spec.Selector, path.Child("selector"))...)
	}
	errs = append(errs, sessionAffinity(spec, path)...)
	errs = append(errs, clusterIPs(spec, path)...)
	for i, ip := range spec.ExternalIPs {
		errs = append(errs, endpointIP(ip, path.Child("externalIPs").Index(i))...)
	}
	if spec.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), ""))
	} else {
		errs = append(errs, checks.OneOf(spec.Type, path.Child("type"), corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName,
			corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)...)
	}
	errs = append(errs, distinctPorts(spec, path.Child("ports"))...)
	errs = append(errs, sourceRanges(s, path)...)
	errs = append(errs, balancerFields(spec, path)...)
	return append(errs, trafficPolicies(s, path)...)
}

func serviceType(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	noneAllowed := func() {
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
		noneAllowed()
	case corev1.ServiceTypeNodePort:
		noneAllowed()
	case corev1.ServiceTypeExternalName:
		forbid := func(set bool, name string) {
			if set {
				errs = append(errs, field.Forbidden(path.Child(name), "may not be set for ExternalName services"))
			}
		}
		forbid(len(spec.ClusterIPs) > 0, "clusterIPs")
		forbid(len(spec.IPFamilies) > 0, "ipFamilies")
		forbid(spec.IPFamilyPolicy != nil, "ipFamilyPolicy")
		if name := strings.TrimSuffix(spec.ExternalName, "."); name == "" {
			errs = append(errs, field.Required(path.Child("externalName"), ""))
		} else {
			errs = append(errs, checks.DnsSubdomain(name, path.Child("externalName"))...)
		}
	}
	return errs
}

func servicePort(p *corev1.ServicePort, needsName bool, names sets.Set[string], path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case p.Name != "":
		errs = append(errs, checks.DnsLabel(p.Name, path.Child("name"))...)
		if names.Has(p.Name) {
			errs = append(errs, field.Duplicate(path.Child("name"), p.Name))
		}
		names.Insert(p.Name)
	case needsName:
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	errs = append(errs, checks.PortNumber(p.Port, path.Child("port"))...)
	if p.Protocol == "" {
		errs = append(errs, field.Required(path.Child("protocol"), ""))
	} else {
		errs = append(errs, checks.OneOf(p.Protocol, path.Child("protocol"), protocols...)...)
	}
	errs = append(errs, checks.PortNumberOrName(p.TargetPort, path.Child("targetPort"))...)
	if p.AppProtocol != nil {
		errs = append(errs, checks.QualifiedName(*p.AppProtocol, path.Child("appProtocol"))...)
	}
	return errs
}

func sessionAffinity(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	at, config := path.Child("sessionAffinity"), path.Child("sessionAffinityConfig")
	switch spec.SessionAffinity {
	case "":
		return field.ErrorList{field.Required(at, "")}
	case corev1.ServiceAffinityClientIP:
		switch c := spec.SessionAffinityConfig; {
		case c == nil:
			return field.ErrorList{field.Required(config, "when session affinity type is ClientIP")}
		case c.ClientIP == nil:
			return field.ErrorList{field.Required(config.Child("clientIP"), "when session affinity type is ClientIP")}
		case c.ClientIP.TimeoutSeconds == nil:
			return field.ErrorList{field.Required(config.Child("clientIP", "timeoutSeconds"), "when session affinity type is ClientIP")}
		case *c.ClientIP.TimeoutSeconds <= 0 || *c.ClientIP.TimeoutSeconds > maxSessionSeconds:
			return field.ErrorList{field.Invalid(config.Child("clientIP", "timeoutSeconds"), *c.ClientIP.TimeoutSeconds,
				fmt.Sprintf("must be greater than 0 and less than %d", maxSessionSeconds))}
		}
		return nil
	case corev1.ServiceAffinityNone:
		if spec.SessionAffinityConfig != nil {
			return field.ErrorList{field.Forbidden(config, "must not be set when session affinity is None")}
		}
		return nil
	}
	return checks.OneOf(spec.SessionAffinity, at, corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)
}

// clusterIPs validates cluster IPs and IP families against each other.
func clusterIPs(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	if spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	at, families := path.Child("clusterIPs"), path.Child("ipFamilies")
	var errs field.ErrorList
	switch {
	case spec.ClusterIP == "" && len(spec.ClusterIPs) > 0:
		errs = append(errs, field.Invalid(at, spec.ClusterIPs, "must be empty when `clusterIP` is not specified"))
	case spec.ClusterIP != "" && (len(spec.ClusterIPs) == 0 || spec.ClusterIPs[0] != spec.ClusterIP):
		errs = append(errs, field.Invalid(at, spec.ClusterIPs, "first value must match `clusterIP`"))
	}
	for i, family := range spec.IPFamilies {
		errs = append(errs, checks.OneOf(family, families.Index(i), corev1.IPv4Protocol, corev1.IPv6Protocol)...)
		if slices.Contains(spec.IPFamilies[:i], family) {
			errs = append(errs, field.Duplicate(families.Index(i), family))
		}
	}
	if p := spec.IPFamilyPolicy; p != nil {
		errs = append(errs, checks.OneOf(*p, path.Child("ipFamilyPolicy"), corev1.IPFamilyPolicyPreferDualStack,
			corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack)...)
	}
	broken := false
	for i, ip := range spec.ClusterIPs {
		if i == 0 && ip == corev1.ClusterIPNone {
			if len(spec.ClusterIPs) > 1 {
				broken = true
				errs = append(errs, field.Invalid(at, spec.ClusterIPs, "'None' must be the first and only value"))
			}
			continue
		}
		invalid := validation.IsValidIPForLegacyField(at.Index(i), ip, false, nil)
		broken = broken || len(invalid) > 0
		errs = append(errs, invalid...)
	}
	if len(spec.ClusterIPs) > 2 {
		errs = append(errs, field.Invalid(at, spec.ClusterIPs, "may only hold up to 2 values"))
	}
	if broken {
		return errs
	}
	if len(spec.ClusterIPs) > 1 {
		if dual, err := utilsnet.IsDualStackIPStrings(spec.ClusterIPs); err != nil || !dual {
			errs = append(errs, field.Invalid(at, spec.ClusterIPs, "may specify no more than one IP for each IP family"))
		}
	}
	if isHeadless(spec) || len(errs) > 0 {
		return errs
	}
	for i := range min(len(spec.ClusterIPs), len(spec.IPFamilies)) {
		if v6 := utilsnet.IsIPv6String(spec.ClusterIPs[i]); v6 != (spec.IPFamilies[i] == corev1.IPv6Protocol) {
			errs = append(errs, field.Invalid(at.Index(i), spec.ClusterIPs[i],
				fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%d]`", spec.IPFamilies[i], i)))
		}
	}
	return errs
}

// distinctPorts requires unique pairs of port and protocol, and of node port and protocol.
func distinctPorts(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	type shown struct {
		Protocol corev1.Protocol
		Port     int32
	}
	var errs field.ErrorList
	nodePorts, ports := sets.New[shown](), sets.New[shown]()
	for i, p := range spec.Ports {
		if p.NodePort == 0 {
			continue
		}
		at := path.Index(i).Child("nodePort")
		if spec.Type != corev1.ServiceTypeNodePort && spec.Type != corev1.ServiceTypeLoadBalancer {
			errs = append(errs, field.Forbidden(at, fmt.Sprintf("may not be used when `type` is '%s'", spec.Type)))
			continue
		}
		key := shown{p.Protocol, p.NodePort}
		if nodePorts.Has(key) {
			errs = append(errs, field.Duplicate(at, p.NodePort))
		}
		nodePorts.Insert(key)
	}
	for i, p := range spec.Ports {
		key := shown{p.Protocol, p.Port}
		if ports.Has(key) {
			// Printed like kube-apiserver's internal type.
			errs = append(errs, field.Duplicate(path.Index(i), struct {
				Name        string
				Protocol    corev1.Protocol
				AppProtocol *string
				Port        int32
				TargetPort  intstr.IntOrString
				NodePort    int32
			}{Protocol: p.Protocol, Port: p.Port}))
		}
		ports.Insert(key)
	}
	return errs
}

func sourceRanges(s *corev1.Service, path *field.Path) field.ErrorList {
	const annotation = corev1.AnnotationLoadBalancerSourceRangesKey
	ranges, at := s.Spec.LoadBalancerSourceRanges, path.Child("loadBalancerSourceRanges")
	value, annotated := s.Annotations[annotation]
	if len(ranges) == 0 && (!annotated || strings.TrimSpace(value) == "") {
		return nil
	}
	if len(ranges) == 0 {
		ranges, at = strings.Split(strings.TrimSpace(value), ","), checks.MetadataPath.Child("annotations").Key(annotation)
	}
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return field.ErrorList{field.Forbidden(at, balancerOnly)}
	}
	var errs field.ErrorList
	for i, cidr := range ranges {
		errs = append(errs, validation.IsValidCIDRForLegacyField(at.Index(i), strings.TrimSpace(cidr), false, nil)...)
	}
	return errs
}

func balancerFields(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	balanced := spec.Type == corev1.ServiceTypeLoadBalancer
	switch at, ports := path.Child("allocateLoadBalancerNodePorts"), spec.AllocateLoadBalancerNodePorts; {
	case balanced && ports == nil:
		errs = append(errs, field.Required(at, ""))
	case !balanced && ports != nil:
		errs = append(errs, field.Forbidden(at, balancerOnly))
	}
	switch at, class := path.Child("loadBalancerClass"), spec.LoadBalancerClass; {
	case class == nil:
	case balanced:
		errs = append(errs, checks.QualifiedName(*class, at)...)
	default:
		errs = append(errs, field.Forbidden(at, balancerOnly))
	}
	return errs
}

func trafficPolicies(s *corev1.Service, path *field.Path) field.ErrorList {
	spec := &s.Spec
	var errs field.ErrorList
	switch at, outside := path.Child("externalTrafficPolicy"), isExternallyAccessible(spec); {
	case !outside && spec.ExternalTrafficPolicy != "":
		errs = append(errs, field.Invalid(at, spec.ExternalTrafficPolicy, "may only be set for externally-accessible services"))
	case outside && spec.ExternalTrafficPolicy == "":
		errs = append(errs, field.Required(at, ""))
	case outside:
		errs = append(errs, checks.OneOf(spec.ExternalTrafficPolicy, at, corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)...)
	}
	switch at, port := path.Child("healthCheckNodePort"), spec.HealthCheckNodePort; {
	case port == 0:
	case !NeedsHealthCheckNodePort(s):
		errs = append(errs, field.Invalid(at, port, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
	default:
		errs = append(errs, checks.PortNumber(port, at)...)
	}
	switch at := path.Child("internalTrafficPolicy"); {
	case spec.InternalTrafficPolicy != nil:
		errs = append(errs, checks.OneOf(*spec.InternalTrafficPolicy, at, corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)...)
	case spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer || spec.Type == corev1.ServiceTypeClusterIP:
		errs = append(errs, field.Required(at, ""))
	}
	if d := spec.TrafficDistribution; d != nil {
		errs = append(errs, checks.OneOf(*d, path.Child("trafficDistribution"), corev1.ServiceTrafficDistributionPreferClose,
			corev1.ServiceTrafficDistributionPreferSameNode, corev1.ServiceTrafficDistributionPreferSameZone)...)
	}
	return errs
}
