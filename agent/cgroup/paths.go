package cgroup

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podsCgroupName is the name of the parent cgroup of all pods.
const podsCgroupName = "berthpods"

// PodsPath returns the parent cgroup of all pods. node is the cgroup of the node; "/" is the whole
// machine.
func PodsPath(node string) string { return path.Join("/", node, podsCgroupName) }

// PodPath returns the cgroup of a pod, as the kubelet's cgroupfs driver names it.
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
