package main

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// findPod is nil if there is none.
func findPod(objects []runtime.Object, namespace, name string) *corev1.Pod {
	for _, o := range objects {
		if pod, ok := o.(*corev1.Pod); ok && pod.Name == name && cmp.Or(pod.Namespace, corev1.NamespaceDefault) == namespace {
			return pod
		}
	}
	return nil
}

// transientReasons are reasons of containers that wait because the node is busy with them, if no message says more.
var transientReasons = map[string]bool{"": true, "ContainerCreating": true, "PodInitializing": true}

// podProblems are what a pod's node reports that keeps it from running. Its words may be anybody's.
func podProblems(pod *corev1.Pod) (lines []string) {
	if pod == nil || pod.Spec.NodeName == "" {
		return nil
	}
	st := pod.Status
	if st.Phase == corev1.PodFailed {
		lines = append(lines, "it has failed"+formatReason(st.Reason, st.Message))
	}
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for _, c := range list {
			if w := c.State.Waiting; w != nil && (w.Message != "" || !transientReasons[w.Reason]) {
				lines = append(lines, "container "+c.Name+" waits"+formatReason(w.Reason, w.Message)+formatTermination(c.LastTerminationState.Terminated))
			}
			if t := c.State.Terminated; t != nil && t.ExitCode != 0 && st.Phase != corev1.PodSucceeded {
				lines = append(lines, "container "+c.Name+" does not run"+formatTermination(t))
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

// formatTermination is how a container's last run ended.
func formatTermination(t *corev1.ContainerStateTerminated) string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("; it ended with exit code %d%s", t.ExitCode, formatReason(t.Reason, t.Message))
}
