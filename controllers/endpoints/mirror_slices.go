package endpoints

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/endpointslice/util"
	"k8s.io/utils/ptr"
)

// maxEndpointsPerSubset is upstream's default and the maximum size of a slice.
const maxEndpointsPerSubset = 1000

// maxNamePrefixLen leaves room for the suffix of a generated name.
const maxNamePrefixLen = 253 - 6

// desiredSlices returns the mirrored slices of Endpoints, without names. There is one slice per address family and set
// of ports. The form is that of upstream's controller, so that each accepts the other's slices.
func desiredSlices(e *corev1.Endpoints) (out []*discoveryv1.EndpointSlice) {
	for _, subset := range repackSubsets(e.Subsets) {
		families := map[discoveryv1.AddressType]util.EndpointSet{}
		count := 0
		for _, list := range []struct {
			addresses []corev1.EndpointAddress
			ready     bool
		}{{subset.Addresses, true}, {subset.NotReadyAddresses, false}} {
			for j := range list.addresses {
				family, ok := addressType(list.addresses[j].IP)
				if !ok || count == maxEndpointsPerSubset {
					continue
				}
				if families[family] == nil {
					families[family] = util.EndpointSet{}
				}
				families[family].Insert(endpointOf(&list.addresses[j], list.ready))
				count++
			}
		}
		for _, family := range slices.Sorted(maps.Keys(families)) {
			out = append(out, &discoveryv1.EndpointSlice{ObjectMeta: mirrorMeta(e), AddressType: family, Endpoints: sortedEndpoints(families[family]), Ports: mirroredPorts(subset.Ports)})
		}
	}
	return out
}

func sortedEndpoints(set util.EndpointSet) (out []discoveryv1.Endpoint) {
	for _, e := range set {
		out = append(out, *e)
	}
	return sortEndpoints(out)
}

func sortEndpoints(list []discoveryv1.Endpoint) []discoveryv1.Endpoint {
	slices.SortFunc(list, func(a, b discoveryv1.Endpoint) int {
		targetA, targetB := ptr.Deref(a.TargetRef, corev1.ObjectReference{}), ptr.Deref(b.TargetRef, corev1.ObjectReference{})
		return cmp.Or(slices.Compare(a.Addresses, b.Addresses), strings.Compare(ptr.Deref(a.Hostname, ""), ptr.Deref(b.Hostname, "")),
			strings.Compare(targetA.Namespace, targetB.Namespace), strings.Compare(targetA.Name, targetB.Name))
	})
	return list
}

func addressType(ip string) (discoveryv1.AddressType, bool) {
	a, err := netip.ParseAddr(ip)
	switch {
	case err != nil:
		return "", false
	case a.Is4():
		return discoveryv1.AddressTypeIPv4, true
	}
	return discoveryv1.AddressTypeIPv6, true
}

func endpointOf(a *corev1.EndpointAddress, ready bool) *discoveryv1.Endpoint {
	out := &discoveryv1.Endpoint{Addresses: []string{a.IP}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}, NodeName: a.NodeName, TargetRef: a.TargetRef}
	if a.Hostname != "" {
		out.Hostname = &a.Hostname
	}
	return out
}

func mirroredPorts(ports []corev1.EndpointPort) (out []discoveryv1.EndpointPort) {
	for _, p := range ports {
		protocol := cmp.Or(p.Protocol, corev1.ProtocolTCP)
		out = append(out, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port, Protocol: &protocol, AppProtocol: p.AppProtocol})
	}
	return out
}

// mirrorMeta returns the metadata of a mirrored slice: labels and annotations of the Endpoints, which own it.
func mirrorMeta(e *corev1.Endpoints) metav1.ObjectMeta {
	out := metav1.ObjectMeta{Namespace: e.Namespace, GenerateName: strings.TrimRight(e.Name[:min(len(e.Name), maxNamePrefixLen)], ".-") + "-",
		Labels: map[string]string{}, Annotations: map[string]string{},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Endpoints", Name: e.Name, UID: e.UID, Controller: new(true), BlockOwnerDeletion: new(true)}}}
	maps.Copy(out.Labels, e.Labels)
	out.Labels[discoveryv1.LabelServiceName], out.Labels[discoveryv1.LabelManagedBy] = e.Name, mirrorManager
	maps.Copy(out.Annotations, e.Annotations)
	delete(out.Annotations, corev1.EndpointsLastChangeTriggerTime)
	delete(out.Annotations, corev1.LastAppliedConfigAnnotation)
	return out
}
