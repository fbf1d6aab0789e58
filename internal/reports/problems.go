package reports

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// FindPod returns a pod of objects, or nil.
func FindPod(objects []runtime.Object, namespace, name string) *corev1.Pod {
	for _, o := range objects {
		if pod, ok := o.(*corev1.Pod); ok && pod.Name == name && cmp.Or(pod.Namespace, corev1.NamespaceDefault) == namespace {
			return pod
		}
	}
	return nil
}

// transientReasons are reasons of waiting containers that need no explanation unless there
// is a message.
var transientReasons = map[string]bool{"": true, "ContainerCreating": true, "PodInitializing": true}

// podProblems returns the problems, reported by the node, that prevent the pod from running.
// The messages are untrusted text.
func podProblems(pod *corev1.Pod) (lines []string) {
	if pod == nil || pod.Spec.NodeName == "" {
		return nil
	}
	st := pod.Status
	if st.Phase == corev1.PodFailed {
		lines = append(lines, "the pod failed"+formatReason(st.Reason, st.Message))
	}
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for _, c := range list {
			if w := c.State.Waiting; w != nil && (w.Message != "" || !transientReasons[w.Reason]) {
				lines = append(lines, "container "+c.Name+" is waiting"+formatReason(w.Reason, w.Message)+formatTermination(c.LastTerminationState.Terminated))
			}
			if t := c.State.Terminated; t != nil && t.ExitCode != 0 && st.Phase != corev1.PodSucceeded {
				lines = append(lines, "container "+c.Name+" is not running"+formatTermination(t))
			}
		}
	}
	return lines
}

func formatReason(reason, message string) string {
	switch {
	case reason == "" && message == "":
		return ""
	case message == "" || reason == "":
		return ": " + reason + message
	}
	return ": " + reason + ": " + message
}

// formatTermination describes how a container's last run ended.
func formatTermination(t *corev1.ContainerStateTerminated) string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("; it exited with code %d%s", t.ExitCode, formatReason(t.Reason, t.Message))
}
