package cgroup

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podsCgroupName is the cgroup of all pods of a node, below the node's.
const podsCgroupName = "berthpods"

// PodsPath is the cgroup of all pods of the node that is confined to the cgroup
// node, "/" being the whole machine.
func PodsPath(node string) string { return path.Join("/", node, podsCgroupName) }

// PodPath is the cgroup of a pod below pods, by its class, as the kubelet's
// cgroupfs driver has it.
func PodPath(pods string, class corev1.PodQOSClass, uid types.UID) string {
	name := "pod" + string(uid)
	switch class {
	case corev1.PodQOSBurstable:
		return path.Join(pods, "burstable", name)
	case corev1.PodQOSBestEffort:
		return path.Join(pods, "besteffort", name)
	}
	return path.Join(pods, name)
}
