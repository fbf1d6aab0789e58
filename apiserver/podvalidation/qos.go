package podvalidation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubectl/pkg/util/qos"
)

// QOSClass is the quality of service class that a pod's cpu and memory requests and limits earn it,
// whatever its status says.
func QOSClass(pod *corev1.Pod) corev1.PodQOSClass { return qos.ComputePodQOS(pod) }
