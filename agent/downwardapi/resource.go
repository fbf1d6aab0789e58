package downwardapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Resource returns the value of a resourceFieldRef. It refers to the given container unless
// ref.ContainerName names another. allocatable holds the node's allocatable resources, which replace missing limits.
func Resource(pod *corev1.Pod, container string, ref *corev1.ResourceFieldSelector, allocatable corev1.ResourceList) (string, error) {
	if ref.ContainerName != "" {
		container = ref.ContainerName
	}
	c := findContainer(pod, container)
	if c == nil {
		return "", fmt.Errorf("resourceFieldRef.containerName: pod %s/%s has no container %q", pod.Namespace, pod.Name, container)
	}
	list, name, _ := strings.Cut(ref.Resource, ".")
	var q resource.Quantity
	switch resourceName := corev1.ResourceName(name); {
	case !isSupported(resourceName) || list != "limits" && list != "requests":
		return "", fmt.Errorf("resourceFieldRef.resource %q: unsupported; use limits or requests of cpu, memory, ephemeral-storage or hugepages-SIZE", ref.Resource)
	case list == "requests":
		q = c.Resources.Requests[resourceName]
	default:
		limit, ok := c.Resources.Limits[resourceName]
		if !ok || limit.IsZero() {
			limit = allocatable[resourceName]
		}
		q = limit
	}
	return strconv.FormatInt(divideRoundUp(q, ref.Divisor, name == string(corev1.ResourceCPU)), 10), nil
}

func isSupported(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// divideRoundUp returns q/divisor rounded up; a zero divisor counts as 1. milli selects a precision of thousandths.
func divideRoundUp(q, divisor resource.Quantity, milli bool) int64 {
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	value, d := q.Value(), divisor.Value()
	if milli {
		value, d = q.MilliValue(), divisor.MilliValue()
	}
	n := value / d
	if value%d > 0 {
		n++
	}
	return n
}

func findContainer(pod *corev1.Pod, name string) *corev1.Container {
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		if i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name }); i >= 0 {
			return &containers[i]
		}
	}
	return nil
}
