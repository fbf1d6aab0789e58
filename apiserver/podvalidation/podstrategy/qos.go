package podstrategy

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubectl/pkg/util/qos"
)

// QOSClass computes the quality of service class of a pod from its CPU and memory requests and
// limits. It ignores the status.
func QOSClass(pod *corev1.Pod) corev1.PodQOSClass { return qos.ComputePodQOS(pod) }
