package agent

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// withForeign returns ours plus the resources in seen that the node itself does not report.
func withForeign(ours, seen, own corev1.ResourceList) corev1.ResourceList {
	out := maps.Clone(ours)
	for name, q := range seen {
		if _, known := own[name]; !known {
			out[name] = q
		}
	}
	return out
}

// mergeAllocatable returns ours plus the resources that the node itself does not report. As in the
// kubelet, all of a resource that an administrator set in the capacity is allocatable, and an
// extended resource that is not in the capacity is not.
func mergeAllocatable(ours corev1.ResourceList, seen *corev1.NodeStatus, own corev1.ResourceList) corev1.ResourceList {
	out := withForeign(ours, seen.Allocatable, own)
	maps.DeleteFunc(out, func(name corev1.ResourceName, _ resource.Quantity) bool {
		_, counted := ours[name]
		return !counted && isExtendedResource(name)
	})
	return withForeign(out, seen.Capacity, own)
}

// isExtendedResource reports whether the name has a domain other than kubernetes.io.
func isExtendedResource(name corev1.ResourceName) bool {
	domain, _, found := strings.Cut(string(name), "/")
	return found && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io")
}
