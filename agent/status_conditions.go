package agent

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/podlifecycle"
)

// podConditions returns the conditions that the kubelet maintains.
func podConditions(p *pod, init, containers []podlifecycle.Status) []corev1.PodCondition {
	ready := containersReadyCondition(p, init, containers)
	return []corev1.PodCondition{
		newCondition(corev1.PodReadyToStartContainers, sandboxReady(p), "", ""),
		initializedCondition(p, init),
		podReadyCondition(p, ready),
		withType(ready, corev1.ContainersReady),
		newCondition(corev1.PodScheduled, true, "", ""),
	}
}

func newCondition(t corev1.PodConditionType, isTrue bool, reason, message string) corev1.PodCondition {
	c := corev1.PodCondition{Type: t, Status: corev1.ConditionFalse, Reason: reason, Message: message}
	if isTrue {
		c.Status = corev1.ConditionTrue
	}
	return c
}

func withType(c corev1.PodCondition, t corev1.PodConditionType) corev1.PodCondition {
	c.Type = t
	return c
}

// sandboxReady reports whether the pod has its network. A pod of a real node has it once the runtime
// has reported an address or a container.
func sandboxReady(p *pod) bool {
	if p.lifecycle.Stopped() || p.deletable {
		return false
	}
	return !p.node.hasRuntime || len(p.addresses) > 0 || len(p.containerInfos) > 0
}

// terminalReason returns the condition reason of a terminated pod, "" for others.
func terminalReason(p *pod) string {
	switch p.lifecycle.Phase() {
	case podlifecycle.Succeeded:
		return "PodCompleted"
	case podlifecycle.Failed:
		return "PodFailed"
	case podlifecycle.Pending, podlifecycle.Running:
	}
	return ""
}

func initializedCondition(p *pod, init []podlifecycle.Status) corev1.PodCondition {
	switch {
	case p.lifecycle.Phase() == podlifecycle.Succeeded:
		return newCondition(corev1.PodInitialized, true, "PodCompleted", "")
	case p.lifecycle.Initialized():
		return newCondition(corev1.PodInitialized, true, "", "")
	}
	var names []string
	for i := range init {
		s := &init[i]
		done := s.State == podlifecycle.ContainerTerminated && s.Exit.Code == 0
		if isSidecar(&p.object.Spec.InitContainers[i]) {
			done = s.StartupPassed
		}
		if !done {
			names = append(names, s.Name)
		}
	}
	return newCondition(corev1.PodInitialized, false, "ContainersNotInitialized", fmt.Sprintf("containers with incomplete status: [%s]", strings.Join(names, " ")))
}

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// containersReadyCondition returns the readiness of the containers, as type Ready.
func containersReadyCondition(p *pod, init, containers []podlifecycle.Status) corev1.PodCondition {
	if reason := terminalReason(p); reason != "" {
		return newCondition(corev1.PodReady, false, reason, "")
	}
	if p.lifecycle.Ready() {
		return newCondition(corev1.PodReady, true, "", "")
	}
	var names []string
	for i := range init {
		if isSidecar(&p.object.Spec.InitContainers[i]) && !init[i].Ready {
			names = append(names, init[i].Name)
		}
	}
	for i := range containers {
		if !containers[i].Ready {
			names = append(names, containers[i].Name)
		}
	}
	return newCondition(corev1.PodReady, false, "ContainersNotReady", fmt.Sprintf("containers with unready status: [%s]", strings.Join(names, " ")))
}

// podReadyCondition returns the Ready condition: ContainersReady plus the readiness gates.
func podReadyCondition(p *pod, containers corev1.PodCondition) corev1.PodCondition {
	if containers.Status != corev1.ConditionTrue {
		return containers
	}
	var messages []string
	for _, g := range p.object.Spec.ReadinessGates {
		i := slices.IndexFunc(p.object.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == g.ConditionType })
		switch {
		case i < 0:
			messages = append(messages, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", g.ConditionType))
		case p.object.Status.Conditions[i].Status != corev1.ConditionTrue:
			messages = append(messages, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", g.ConditionType, p.object.Status.Conditions[i].Status))
		}
	}
	if len(messages) > 0 {
		return newCondition(corev1.PodReady, false, "ReadinessGatesNotReady", strings.Join(messages, ", "))
	}
	return containers
}

// setPodCondition sets a condition; if its status is unchanged it keeps its transition time.
func setPodCondition(s *corev1.PodStatus, c corev1.PodCondition, generation int64, now metav1.Time) {
	c.ObservedGeneration, c.LastTransitionTime = generation, now
	i := slices.IndexFunc(s.Conditions, func(o corev1.PodCondition) bool { return o.Type == c.Type })
	if i < 0 {
		s.Conditions = append(s.Conditions, c)
		return
	}
	if s.Conditions[i].Status == c.Status {
		c.LastTransitionTime = s.Conditions[i].LastTransitionTime
	}
	s.Conditions[i] = c
}
