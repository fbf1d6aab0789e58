package pods

import (
	"fmt"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/internal/conversion"
)

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
func Cgroup(node string, pod *corev1.Pod) string {
	return cgroup.PodPath(cgroup.PodsPath(node), conversion.QoS(pod), pod.UID)
}

// qosCgroup returns the cgroup of all pods of a QoS class.
func qosCgroup(node string, class corev1.PodQOSClass) string {
	return cgroup.ClassPath(cgroup.PodsPath(node), class)
}

// qosCgroups returns the cgroups that contain pod cgroups.
func qosCgroups(node string) []string {
	return []string{cgroup.PodsPath(node), qosCgroup(node, corev1.PodQOSBurstable), qosCgroup(node, corev1.PodQOSBestEffort)}
}

func (r *Runner) podDir(uid types.UID) string { return PodDir(r.opts.Root, uid) }

// podKey returns a pod's name for log messages.
func podKey(pod *corev1.Pod) string {
	return fmt.Sprintf("%s/%s(%s)", pod.Namespace, pod.Name, pod.UID)
}
