package quota

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	resourcehelper "k8s.io/component-helpers/resource"
)

func isPodResource(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
		corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage:
		return true
	}
	text := string(name)
	if strings.HasPrefix(text, "hugepages-") || strings.HasPrefix(text, "requests.hugepages-") {
		return true
	}
	extended, found := strings.CutPrefix(text, "requests.")
	return found && isExtended(extended) && !strings.Contains(extended, storageClassSuffix)
}

// isExtended reports whether name is an extended resource, such as example.com/gpu.
func isExtended(name string) bool {
	return strings.Contains(name, "/") && !strings.Contains(name, "kubernetes.io/")
}

// podUsage returns the requests and limits of a pod, nil for a pod that has ended.
func podUsage(obj runtime.Object) corev1.ResourceList {
	pod, ok := obj.(*corev1.Pod)
	if !ok || HasEnded(pod, time.Now()) {
		return nil
	}
	used := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(1, resource.DecimalSI)}
	for name, q := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
		switch {
		case name == corev1.ResourceCPU, name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage, strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
			used[name] = q
			used[corev1.ResourceName("requests."+string(name))] = q
		case isExtended(string(name)):
			used[corev1.ResourceName("requests."+string(name))] = q
		}
	}
	for name, q := range resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{}) {
		switch name {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
			used[corev1.ResourceName("limits."+string(name))] = q
		}
	}
	return used
}

// HasEnded reports whether a pod no longer uses resources: it has finished, or its grace period has passed.
func HasEnded(pod *corev1.Pod, now time.Time) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	// The deletion timestamp includes the grace period.
	return pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && now.After(pod.DeletionTimestamp.Time)
}

// podConstraints requires every container, or the pod, to set the requests and limits of CPU and memory that a quota
// limits.
func podConstraints(required []corev1.ResourceName, obj runtime.Object) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("unexpected input object %v", obj)
	}
	missing := map[string][]string{}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		for _, name := range required {
			if !isSet(&c.Resources, name) && (pod.Spec.Resources == nil || !isSet(pod.Spec.Resources, name)) {
				missing[string(name)] = append(missing[string(name)], c.Name)
			}
		}
	}
	var texts []string
	for name, containers := range missing {
		texts = append(texts, fmt.Sprintf("%s for: %s", name, strings.Join(containers, ",")))
	}
	if len(texts) == 0 {
		return nil
	}
	slices.Sort(texts)
	return fmt.Errorf("must specify %s", strings.Join(texts, "; "))
}

// isSet reports whether the requirements set a resource of a quota. Only CPU and memory are required.
func isSet(r *corev1.ResourceRequirements, name corev1.ResourceName) bool {
	list, resourceName := r.Requests, strings.TrimPrefix(string(name), "requests.")
	if limit, found := strings.CutPrefix(string(name), "limits."); found {
		list, resourceName = r.Limits, limit
	}
	switch corev1.ResourceName(resourceName) {
	case corev1.ResourceCPU, corev1.ResourceMemory:
		_, found := list[corev1.ResourceName(resourceName)]
		return found
	}
	return true
}
