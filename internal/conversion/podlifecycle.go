package conversion

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/podlifecycle"
)

// PodLifecycleSpec converts a pod specification for engine/podlifecycle.
func PodLifecycleSpec(s *corev1.PodSpec) podlifecycle.Spec {
	out := podlifecycle.Spec{RestartPolicy: podlifecycle.Always}
	switch s.RestartPolicy {
	case corev1.RestartPolicyOnFailure:
		out.RestartPolicy = podlifecycle.OnFailure
	case corev1.RestartPolicyNever:
		out.RestartPolicy = podlifecycle.Never
	}
	for i := range s.InitContainers {
		out.Init = append(out.Init, lifecycleContainer(&s.InitContainers[i], true))
	}
	for i := range s.Containers {
		out.Containers = append(out.Containers, lifecycleContainer(&s.Containers[i], false))
	}
	for i := range s.EphemeralContainers {
		out.Ephemeral = append(out.Ephemeral, podlifecycle.Container{Name: s.EphemeralContainers[i].Name})
	}
	if s.TerminationGracePeriodSeconds != nil {
		out.Grace = max(seconds(*s.TerminationGracePeriodSeconds), time.Second)
	}
	if s.ActiveDeadlineSeconds != nil {
		out.Deadline = max(seconds(*s.ActiveDeadlineSeconds), time.Second)
	}
	return out
}

func lifecycleContainer(c *corev1.Container, init bool) podlifecycle.Container {
	out := podlifecycle.Container{Name: c.Name, PreStop: c.Lifecycle != nil && c.Lifecycle.PreStop != nil}
	if p := c.RestartPolicy; p != nil {
		policy := podlifecycle.Always
		switch *p {
		case corev1.ContainerRestartPolicyOnFailure:
			policy = podlifecycle.OnFailure
		case corev1.ContainerRestartPolicyNever:
			policy = podlifecycle.Never
		}
		if out.Sidecar = init && policy == podlifecycle.Always; !out.Sidecar {
			out.RestartPolicy = &policy
		}
	}
	for i := range c.RestartPolicyRules {
		if rule := &c.RestartPolicyRules[i]; rule.Action == corev1.ContainerRestartRuleActionRestart && rule.ExitCodes != nil {
			out.RestartRules = append(out.RestartRules, podlifecycle.RestartRule{Codes: rule.ExitCodes.Values, NotIn: rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpNotIn})
		}
	}
	lifecycleProbes(c, &out)
	return out
}

func lifecycleProbes(c *corev1.Container, out *podlifecycle.Container) {
	for _, p := range []struct {
		probe *corev1.Probe
		kind  podlifecycle.Probes
		grace *time.Duration
	}{
		{c.StartupProbe, podlifecycle.Startup, &out.StartupGrace},
		{c.ReadinessProbe, podlifecycle.Readiness, nil},
		{c.LivenessProbe, podlifecycle.Liveness, &out.LivenessGrace},
	} {
		if p.probe == nil {
			continue
		}
		out.Probes |= p.kind
		if g := p.probe.TerminationGracePeriodSeconds; g != nil && p.grace != nil {
			*p.grace = max(seconds(*g), time.Second)
		}
	}
}

// PodLifecyclePhase converts a phase. Unknown phases become Pending.
func PodLifecyclePhase(p corev1.PodPhase) podlifecycle.Phase {
	switch p {
	case corev1.PodRunning:
		return podlifecycle.Running
	case corev1.PodSucceeded:
		return podlifecycle.Succeeded
	case corev1.PodFailed:
		return podlifecycle.Failed
	}
	return podlifecycle.Pending
}

// CrashLoopBackOff is the waiting reason of a container that is restarted after a backoff.
const CrashLoopBackOff = "CrashLoopBackOff"

// PodLifecycleStatuses converts the container statuses that an agent wrote.
func PodLifecycleStatuses(s *corev1.PodStatus) (out []podlifecycle.Status) {
	for _, cs := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range cs {
			out = append(out, lifecycleStatus(&cs[i]))
		}
	}
	return out
}

func lifecycleStatus(c *corev1.ContainerStatus) podlifecycle.Status {
	s := podlifecycle.Status{Name: c.Name, Restarts: c.RestartCount, Ready: c.Ready, StartupPassed: c.Started != nil && *c.Started}
	if t := c.LastTerminationState.Terminated; t != nil {
		s.Last = lifecycleExit(t)
	}
	switch {
	case c.State.Running != nil:
		s.State, s.StartedAt = podlifecycle.ContainerRunning, c.State.Running.StartedAt.Time
	case c.State.Terminated != nil:
		s.State, s.Exit = podlifecycle.ContainerTerminated, *lifecycleExit(c.State.Terminated)
	case c.State.Waiting != nil && c.State.Waiting.Reason == CrashLoopBackOff && s.Last != nil:
		s.State, s.Exit, s.Last = podlifecycle.ContainerTerminated, *s.Last, nil
	}
	return s
}

// lifecycleExit converts a termination state. It omits the reasons that engine/podlifecycle implies.
func lifecycleExit(t *corev1.ContainerStateTerminated) *podlifecycle.Exit {
	x := &podlifecycle.Exit{Code: t.ExitCode, Signal: t.Signal, Reason: t.Reason, Message: t.Message, StartedAt: t.StartedAt.Time, FinishedAt: t.FinishedAt.Time}
	if x.Reason == "Completed" || x.Reason == "Error" {
		x.Reason = ""
	}
	return x
}
