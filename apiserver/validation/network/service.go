package network

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// defaultSessionSeconds is the default timeout of client IP affinity, three hours.
const defaultSessionSeconds = 3 * 60 * 60

// DefaultService sets the defaults of a service: type ClusterIP, no session affinity, protocol TCP, target ports and
// traffic policies. For a load balancer it also sets allocateLoadBalancerNodePorts and the ipMode of ingress IPs.
func DefaultService(s *corev1.Service) {
	spec := &s.Spec
	defaulting.Set(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		if c := spec.SessionAffinityConfig; c == nil || c.ClientIP == nil || c.ClientIP.TimeoutSeconds == nil {
			timeout := int32(defaultSessionSeconds)
			spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &timeout}}
		}
	}
	defaulting.Set(&spec.Type, corev1.ServiceTypeClusterIP)
	for i := range spec.Ports {
		p := &spec.Ports[i]
		defaulting.Set(&p.Protocol, corev1.ProtocolTCP)
		if p.TargetPort == intstr.FromInt32(0) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	if isExternallyAccessible(spec) {
		defaulting.Set(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	if spec.Type != corev1.ServiceTypeExternalName {
		defaulting.SetPointer(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		defaulting.SetPointer(&spec.AllocateLoadBalancerNodePorts, true)
		for i := range s.Status.LoadBalancer.Ingress {
			if in := &s.Status.LoadBalancer.Ingress[i]; in.IP != "" {
				defaulting.SetPointer(&in.IPMode, corev1.LoadBalancerIPModeVIP)
			}
		}
	}
}

// isExternallyAccessible reports whether the service is reachable from outside of the cluster.
func isExternallyAccessible(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer || spec.Type == corev1.ServiceTypeNodePort ||
		(spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0)
}

func isHeadless(spec *corev1.ServiceSpec) bool {
	return len(spec.ClusterIPs) == 1 && spec.ClusterIPs[0] == corev1.ClusterIPNone
}

// NeedsClusterIP reports whether a service has cluster IPs or is headless.
func NeedsClusterIP(s *corev1.Service) bool {
	return s.Spec.Type != corev1.ServiceTypeExternalName
}

// NeedsNodePorts reports whether the ports of a service need node ports.
func NeedsNodePorts(s *corev1.Service) bool {
	switch s.Spec.Type {
	case corev1.ServiceTypeNodePort:
		return true
	case corev1.ServiceTypeLoadBalancer:
		return s.Spec.AllocateLoadBalancerNodePorts == nil || *s.Spec.AllocateLoadBalancerNodePorts
	}
	return false
}

// NeedsHealthCheckNodePort reports whether load balancers need a node port for health checks.
func NeedsHealthCheckNodePort(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// PrepareServiceForCreate sets clusterIPs to clusterIP if only clusterIP is set.
func PrepareServiceForCreate(s *corev1.Service) {
	if s.Spec.ClusterIP != "" && len(s.Spec.ClusterIPs) == 0 {
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
	}
}

// PrepareServiceForUpdate restores allocated values that the update omits, syncs clusterIP and
// clusterIPs, and drops fields of the old type.
func PrepareServiceForUpdate(s, old *corev1.Service) {
	restoreAllocated(s, old)
	syncClusterIPs(s, old)
	dropTypeDependentFields(s, old)
}

func restoreAllocated(s, old *corev1.Service) {
	if NeedsClusterIP(old) && NeedsClusterIP(s) {
		defaulting.Set(&s.Spec.ClusterIP, old.Spec.ClusterIP)
		if len(s.Spec.ClusterIPs) == 0 && s.Spec.ClusterIP == old.Spec.ClusterIP {
			s.Spec.ClusterIPs = slices.Clone(old.Spec.ClusterIPs)
		}
	}
	if NeedsNodePorts(old) && NeedsNodePorts(s) {
		restoreNodePorts(s, old)
	}
	if NeedsHealthCheckNodePort(old) && NeedsHealthCheckNodePort(s) {
		defaulting.Set(&s.Spec.HealthCheckNodePort, old.Spec.HealthCheckNodePort)
	}
}

// restoreNodePorts restores omitted node ports unless another port uses them.
func restoreNodePorts(s, old *corev1.Service) {
	type key struct {
		protocol corev1.Protocol
		port     int32
	}
	oldPorts, used := map[key]int32{}, map[int32]bool{}
	for _, p := range old.Spec.Ports {
		oldPorts[key{p.Protocol, p.Port}] = p.NodePort
	}
	for _, p := range s.Spec.Ports {
		used[p.NodePort] = p.NodePort != 0
	}
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		if oldPort := oldPorts[key{p.Protocol, p.Port}]; p.NodePort == 0 && !used[oldPort] {
			p.NodePort = oldPort
			used[oldPort] = oldPort != 0
		}
	}
}

// syncClusterIPs updates clusterIPs if it is empty or if the update changed clusterIP only.
func syncClusterIPs(s, old *corev1.Service) {
	if len(s.Spec.ClusterIPs) == 0 {
		PrepareServiceForCreate(s)
		return
	}
	if s.Spec.ClusterIP == old.Spec.ClusterIP || !slices.Equal(s.Spec.ClusterIPs, old.Spec.ClusterIPs) {
		return
	}
	if s.Spec.ClusterIP == "" {
		s.Spec.ClusterIPs = nil
		return
	}
	s.Spec.ClusterIPs = slices.Clone(s.Spec.ClusterIPs)
	s.Spec.ClusterIPs[0] = s.Spec.ClusterIP
}

// dropTypeDependentFields clears unchanged fields of the old type.
func dropTypeDependentFields(s, old *corev1.Service) {
	spec, oldSpec := &s.Spec, &old.Spec
	if NeedsClusterIP(old) && !NeedsClusterIP(s) {
		if spec.ClusterIP == oldSpec.ClusterIP && slices.Equal(spec.ClusterIPs, oldSpec.ClusterIPs) {
			spec.ClusterIP, spec.ClusterIPs = "", nil
		}
		if checks.SemanticEqual(spec.IPFamilies, oldSpec.IPFamilies) {
			spec.IPFamilies = nil
		}
		clearIfUnchanged(&spec.IPFamilyPolicy, oldSpec.IPFamilyPolicy)
		clearIfUnchanged(&spec.InternalTrafficPolicy, oldSpec.InternalTrafficPolicy)
	}
	if NeedsNodePorts(old) && !NeedsNodePorts(s) && sameNodePorts(spec.Ports, oldSpec.Ports) {
		for i := range spec.Ports {
			spec.Ports[i].NodePort = 0
		}
	}
	if NeedsHealthCheckNodePort(old) && !NeedsHealthCheckNodePort(s) && spec.HealthCheckNodePort == oldSpec.HealthCheckNodePort {
		spec.HealthCheckNodePort = 0
	}
	if oldSpec.Type == corev1.ServiceTypeLoadBalancer && spec.Type != corev1.ServiceTypeLoadBalancer {
		clearIfUnchanged(&spec.AllocateLoadBalancerNodePorts, oldSpec.AllocateLoadBalancerNodePorts)
		clearIfUnchanged(&spec.LoadBalancerClass, oldSpec.LoadBalancerClass)
	}
	if oldSpec.Type == corev1.ServiceTypeExternalName && spec.Type != corev1.ServiceTypeExternalName && spec.ExternalName == oldSpec.ExternalName {
		spec.ExternalName = ""
	}
	if isExternallyAccessible(oldSpec) && !isExternallyAccessible(spec) && spec.ExternalTrafficPolicy == oldSpec.ExternalTrafficPolicy {
		spec.ExternalTrafficPolicy = ""
	}
}

func clearIfUnchanged[T comparable](field **T, old *T) {
	if *field != nil && old != nil && **field == *old {
		*field = nil
	}
}

// sameNodePorts reports whether old has all node ports of ports.
func sameNodePorts(ports, old []corev1.ServicePort) bool {
	oldNodePorts := map[int32]bool{0: true}
	for _, p := range old {
		oldNodePorts[p.NodePort] = true
	}
	for _, p := range ports {
		if !oldNodePorts[p.NodePort] {
			return false
		}
	}
	return true
}
