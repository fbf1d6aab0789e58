package cgroup

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podsName is the cgroup of all pods of a node, below the node's.
const podsName = "berthpods"

// Pods is the cgroup of all pods of the node that is confined to the cgroup
// node, "/" being the whole machine.
func Pods(node string) string { return path.Join("/", node, podsName) }

// Pod is the cgroup of a pod below pods, by its class, as the kubelet's
// cgroupfs driver has it.
func Pod(pods string, class corev1.PodQOSClass, uid types.UID) string {
	name := "pod" + string(uid)
	switch class {
	case corev1.PodQOSBurstable:
		return path.Join(pods, "burstable", name)
	case corev1.PodQOSBestEffort:
		return path.Join(pods, "besteffort", name)
	}
	return path.Join(pods, name)
}
