package conversion

import (
	corev1 "k8s.io/api/core/v1"
)

// QoS returns the QoS class in the status of a pod, which the API server sets at creation. Without it, QoS returns the
// class that follows from the requests and limits of the pod.
func QoS(pod *corev1.Pod) corev1.PodQOSClass {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass
	}
	var resources []*corev1.ResourceRequirements
	if r := pod.Spec.Resources; r != nil && (len(r.Requests) > 0 || len(r.Limits) > 0) {
		resources = append(resources, r)
	} else {
		for _, cs := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range cs {
				resources = append(resources, &cs[i].Resources)
			}
		}
	}
	bestEffort, guaranteed := true, true
	for _, r := range resources {
		for _, name := range [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := r.Requests[name], r.Limits[name]
			bestEffort = bestEffort && request.IsZero() && limit.IsZero()
			guaranteed = guaranteed && !limit.IsZero() && (request.IsZero() || request.Cmp(limit) == 0)
		}
	}
	switch {
	case bestEffort:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}
