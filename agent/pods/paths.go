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

// podsCgroupName is the name of the cgroup of all pods, below the node's cgroup.
const podsCgroupName = "berthpods"

// LogDir returns the log directory of a pod, given the directory of all logs.
func LogDir(logs string, pod *corev1.Pod) string {
	return filepath.Join(logs, pod.Namespace+"_"+pod.Name+"_"+string(pod.UID))
}

// logPath returns the path of a log below LogDir. attempt counts the container's starts from 0.
func logPath(container string, attempt uint32) string {
	return filepath.Join(container, strconv.FormatUint(uint64(attempt), 10)+".log")
}

// Cgroup returns the cgroup of a pod, given the node's cgroup. Container cgroups are its
// children, named by container ID.
func Cgroup(root string, pod *corev1.Pod) string {
	return path.Join(qosCgroup(root, conversion.QoS(pod)), "pod"+string(pod.UID))
}

// PodsCgroup returns the cgroup of all pods, given the node's cgroup.
func PodsCgroup(root string) string { return path.Join("/", root, podsCgroupName) }

// qosCgroup returns the cgroup of all pods of a QoS class.
func qosCgroup(root string, level corev1.PodQOSClass) string {
	switch level {
	case corev1.PodQOSBurstable:
		return path.Join(PodsCgroup(root), "burstable")
	case corev1.PodQOSBestEffort:
		return path.Join(PodsCgroup(root), "besteffort")
	}
	return PodsCgroup(root)
}

// qosCgroups returns the cgroups that contain pod cgroups.
func qosCgroups(root string) []string {
	return []string{PodsCgroup(root), qosCgroup(root, corev1.PodQOSBurstable), qosCgroup(root, corev1.PodQOSBestEffort)}
}

func (r *Runner) podDir(uid types.UID) string { return PodDir(r.opts.Root, uid) }

// podKey returns a pod's name for log messages.
func podKey(pod *corev1.Pod) string {
	return fmt.Sprintf("%s/%s(%s)", pod.Namespace, pod.Name, pod.UID)
}
