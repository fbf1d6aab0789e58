package pods

import (
	"fmt"
	"path"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/internal/conversion"
)

// podsCgroupName is the cgroup of all pods below that of their node.
const podsCgroupName = "berthpods"

// LogDir is where the logs of a pod's containers are, below the directory of all logs.
func LogDir(logs string, pod *corev1.Pod) string {
	return filepath.Join(logs, pod.Namespace+"_"+pod.Name+"_"+string(pod.UID))
}

// logPath is a log below LogDir; attempt counts the container's starts from 0.
func logPath(container string, attempt uint32) string {
	return filepath.Join(container, strconv.FormatUint(uint64(attempt), 10)+".log")
}

// Cgroup is a pod's cgroup, given that of its node: below it are the cgroups of its containers, called by their ids.
func Cgroup(root string, pod *corev1.Pod) string {
	return path.Join(qosCgroup(root, conversion.QoS(pod)), "pod"+string(pod.UID))
}

// PodsCgroup is the cgroup of all pods, given that of their node.
func PodsCgroup(root string) string { return path.Join("/", root, podsCgroupName) }

// qosCgroup is the cgroup of all pods of a quality of service.
func qosCgroup(root string, level corev1.PodQOSClass) string {
	switch level {
	case corev1.PodQOSBurstable:
		return path.Join(PodsCgroup(root), "burstable")
	case corev1.PodQOSBestEffort:
		return path.Join(PodsCgroup(root), "besteffort")
	}
	return PodsCgroup(root)
}

// qosCgroups are the cgroups in which pods are.
func qosCgroups(root string) []string {
	return []string{PodsCgroup(root), qosCgroup(root, corev1.PodQOSBurstable), qosCgroup(root, corev1.PodQOSBestEffort)}
}

// podDir is the directory of a pod.
func (r *Runner) podDir(uid types.UID) string { return filepath.Join(r.opts.Root, "pods", string(uid)) }

// podKey is a pod's name for people.
func podKey(pod *corev1.Pod) string {
	return fmt.Sprintf("%s/%s(%s)", pod.Namespace, pod.Name, pod.UID)
}
