package endpoints

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/util"
)

// maxAddresses is the maximum number of addresses in Endpoints, as in upstream.
const maxAddresses = 1000

type podAddress struct {
	address corev1.EndpointAddress
	ready   bool
}

// newSubsets returns the Endpoints subsets of a Service: the addresses of its pods, grouped by ports.
// If there are more than maxAddresses, newSubsets prefers ready ones and truncated is true.
func newSubsets(s *corev1.Service, pods []*corev1.Pod) (out []corev1.EndpointSubset, truncated bool) {
	var addresses []podAddress
	ports := map[types.UID][]corev1.EndpointPort{}
	for _, p := range pods {
		address := addressOf(s, p)
		if address == "" || !util.ShouldPodBeInEndpoints(p, s.Spec.PublishNotReadyAddresses) {
			continue
		}
		podPorts := portsOf(s, p)
		if len(podPorts) == 0 && (len(s.Spec.Ports) > 0 || s.Spec.ClusterIP != corev1.ClusterIPNone) {
			continue
		}
		endpoint := corev1.EndpointAddress{IP: address, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}}
		if p.Spec.NodeName != "" {
			endpoint.NodeName = &p.Spec.NodeName
		}
		if util.ShouldSetHostname(p, s) {
			endpoint.Hostname = p.Spec.Hostname
		}
		addresses = append(addresses, podAddress{endpoint, s.Spec.PublishNotReadyAddresses || util.IsPodReady(p)})
		ports[p.UID] = podPorts
	}
	slices.SortFunc(addresses, func(a, b podAddress) int {
		return cmp.Or(compareBool(b.ready, a.ready), strings.Compare(a.address.IP, b.address.IP), strings.Compare(string(a.address.TargetRef.UID), string(b.address.TargetRef.UID)))
	})
	if len(addresses) > maxAddresses {
		addresses, truncated = addresses[:maxAddresses], true
	}
	return groupByPorts(addresses, ports), truncated
}

// groupByPorts groups addresses with the same ports.
func groupByPorts(addresses []podAddress, ports map[types.UID][]corev1.EndpointPort) (out []corev1.EndpointSubset) {
	indexes := map[string]int{}
	for _, p := range addresses {
		subsetPorts := ports[p.address.TargetRef.UID]
		key := portsKey(subsetPorts)
		i, ok := indexes[key]
		if !ok {
			i = len(out)
			indexes[key] = i
			out = append(out, corev1.EndpointSubset{Ports: subsetPorts})
		}
		if p.ready {
			out[i].Addresses = append(out[i].Addresses, p.address)
		} else {
			out[i].NotReadyAddresses = append(out[i].NotReadyAddresses, p.address)
		}
	}
	return out
}

// portsOf returns the ports of a Service for a pod. It omits named ports that the pod does not have.
func portsOf(s *corev1.Service, p *corev1.Pod) (out []corev1.EndpointPort) {
	for i := range s.Spec.Ports {
		port := &s.Spec.Ports[i]
		number, err := endpointslice.FindPort(p, port)
		if err != nil {
			continue
		}
		out = append(out, corev1.EndpointPort{Name: port.Name, Port: int32(number), Protocol: port.Protocol, AppProtocol: port.AppProtocol})
	}
	slices.SortFunc(out, comparePorts)
	return out
}

func comparePorts(a, b corev1.EndpointPort) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Port, b.Port), strings.Compare(string(a.Protocol), string(b.Protocol)))
}

// addressOf returns the pod's address of the Service's primary address family, or "".
func addressOf(s *corev1.Service, p *corev1.Pod) string {
	v6 := len(s.Spec.IPFamilies) > 0 && s.Spec.IPFamilies[0] == corev1.IPv6Protocol
	for _, ip := range p.Status.PodIPs {
		if a, err := netip.ParseAddr(ip.IP); err == nil && a.Is6() == v6 {
			return ip.IP
		}
	}
	return ""
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// portsKey returns a comparable key for ports.
func portsKey(ports []corev1.EndpointPort) string {
	var b strings.Builder
	for _, p := range ports {
		b.WriteString(p.String())
	}
	return b.String()
}
