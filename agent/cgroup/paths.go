package cgroup

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podsName is the name of the cgroup of all pods, below the node's cgroup.
const podsName = "berthpods"

// PodsPath returns the cgroup of all pods. node is the cgroup of the node; "/" is the whole machine.
func PodsPath(node string) string { return path.Join("/", node, podsName) }

// ClassPath returns the cgroup of all pods of a QoS class. pods is the cgroup of all pods.
func ClassPath(pods string, class corev1.PodQOSClass) string {
	switch class {
	case corev1.PodQOSBurstable:
		return path.Join(pods, "burstable")
	case corev1.PodQOSBestEffort:
		return path.Join(pods, "besteffort")
	}
	return pods
}

// PodPath returns the cgroup of a pod, as the kubelet's cgroupfs driver names it. pods is the cgroup of all pods.
func PodPath(pods string, class corev1.PodQOSClass, uid types.UID) string {
	return path.Join(ClassPath(pods, class), "pod"+string(uid))
}
