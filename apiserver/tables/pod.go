package tables

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podTable() (Table, bool) {
	return newTable(podRow, nameColumn(),
		stringColumn("Ready", "Ready and total number of containers."),
		stringColumn("Status", "Phase of the pod, or the reason for its state."),
		stringColumn("Restarts", "Number of container restarts and time since the last one."),
		ageColumn(),
		wide(stringColumn("IP", "IP address of the pod.")),
		wide(stringColumn("Node", "Node that the pod is bound to.")),
		wide(stringColumn("Nominated Node", "Node that the scheduler has nominated for the pod.")),
		wide(stringColumn("Readiness Gates", "Passed and total number of readiness gates.")))
}

// podSummary summarizes the container statuses of a pod.
type podSummary struct {
	reason       string
	ready, total int
	restarts     int
	lastRestart  metav1.Time
}

func podRow(pod *corev1.Pod) []any {
	s := summarize(pod)
	restarts := strconv.Itoa(s.restarts)
	if s.restarts != 0 && !s.lastRestart.IsZero() {
		restarts = fmt.Sprintf("%d (%s ago)", s.restarts, timestampSince(s.lastRestart))
	}
	ip := ""
	if len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	return []any{pod.Name, fmt.Sprintf("%d/%d", s.ready, s.total), s.reason, restarts, age(&pod.ObjectMeta),
		orNone(ip), orNone(pod.Spec.NodeName), orNone(pod.Status.NominatedNodeName), readinessGates(pod)}
}

func readinessGates(pod *corev1.Pod) string {
	if len(pod.Spec.ReadinessGates) == 0 {
		return "<none>"
	}
	passed := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if isPodConditionTrue(pod, gate.ConditionType) {
			passed++
		}
	}
	return fmt.Sprintf("%d/%d", passed, len(pod.Spec.ReadinessGates))
}

func isPodConditionTrue(pod *corev1.Pod, conditionType corev1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == conditionType {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// summarize returns the summary of a pod. It evaluates init containers first; while they run, it
// ignores the other containers.
func summarize(pod *corev1.Pod) podSummary {
	s := podSummary{reason: string(pod.Status.Phase), total: len(pod.Spec.Containers)}
	if pod.Status.Reason != "" {
		s.reason = pod.Status.Reason
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			s.reason = corev1.PodReasonSchedulingGated
		}
	}
	sidecars := map[string]bool{}
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars[c.Name] = true
			s.total++
		}
	}
	sidecarSummary, initializing := s.addInitContainers(pod, sidecars)
	if !initializing || isPodConditionTrue(pod, corev1.PodInitialized) {
		s.restarts, s.lastRestart = sidecarSummary.restarts, sidecarSummary.lastRestart
		s.addContainers(pod)
	}
	switch phase := pod.Status.Phase; {
	case pod.DeletionTimestamp == nil:
	case pod.Status.Reason == "NodeLost":
		s.reason = "Unknown"
	case phase != corev1.PodFailed && phase != corev1.PodSucceeded:
		s.reason = "Terminating"
	}
	return s
}

func (s *podSummary) addRestarts(c *corev1.ContainerStatus) {
	s.restarts += int(c.RestartCount)
	if t := c.LastTerminationState.Terminated; t != nil && s.lastRestart.Before(&t.FinishedAt) {
		s.lastRestart = t.FinishedAt
	}
}

// addInitContainers evaluates the init containers up to the first one that has not completed. It also
// returns the restarts of sidecars.
func (s *podSummary) addInitContainers(pod *corev1.Pod, sidecars map[string]bool) (sidecarSummary podSummary, initializing bool) {
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		s.addRestarts(c)
		if sidecars[c.Name] {
			sidecarSummary.addRestarts(c)
		}
		switch terminated, waiting := c.State.Terminated, c.State.Waiting; {
		case terminated != nil && terminated.ExitCode == 0:
			continue
		case sidecars[c.Name] && c.Started != nil && *c.Started:
			if c.Ready {
				s.ready++
			}
			continue
		case terminated != nil:
			s.reason = "Init:" + exitReason(terminated)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			s.reason = "Init:" + waiting.Reason
		default:
			s.reason = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		return sidecarSummary, true
	}
	return sidecarSummary, false
}

// addContainers evaluates the containers in reverse order, so that the first container with a reason
// determines the status.
func (s *podSummary) addContainers(pod *corev1.Pod) {
	running := false
	for i := len(pod.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := &pod.Status.ContainerStatuses[i]
		s.addRestarts(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.reason = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.reason = exitReason(c.State.Terminated)
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.reason == "Completed" && running {
		s.reason = "NotReady"
		if isPodConditionTrue(pod, corev1.PodReady) {
			s.reason = "Running"
		}
	}
}

func exitReason(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}
