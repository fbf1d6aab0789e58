package agent

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// withUnreported returns reported plus the resources in observed that are not in the node's own
// capacity.
func withUnreported(reported, observed, capacity corev1.ResourceList) corev1.ResourceList {
	out := maps.Clone(reported)
	for name, q := range observed {
		if _, ok := capacity[name]; !ok {
			out[name] = q
		}
	}
	return out
}

// mergeAllocatable returns reported plus the resources that the node itself does not report. As in the kubelet, a
// resource that an administrator set in the capacity is allocatable as a whole. An extended resource that is not in the
// capacity is not allocatable.
func mergeAllocatable(reported corev1.ResourceList, observed *corev1.NodeStatus, capacity corev1.ResourceList) corev1.ResourceList {
	out := withUnreported(reported, observed.Allocatable, capacity)
	maps.DeleteFunc(out, func(name corev1.ResourceName, _ resource.Quantity) bool {
		_, ok := reported[name]
		return !ok && isExtendedResource(name)
	})
	return withUnreported(out, observed.Capacity, capacity)
}

// hasResources reports whether a list has the same quantities as another. A resource that the other has with quantity 0
// may be missing.
func hasResources(list, other corev1.ResourceList) bool {
	for name, q := range other {
		if got := list[name]; got.Cmp(q) != 0 {
			return false
		}
	}
	for name := range list {
		if _, ok := other[name]; !ok {
			return false
		}
	}
	return true
}

// isExtendedResource reports whether the name has a domain other than kubernetes.io.
func isExtendedResource(name corev1.ResourceName) bool {
	domain, _, ok := strings.Cut(string(name), "/")
	return ok && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io")
}
