package intake

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/podlife"
)

// LifeSpec is what podlife reads of a specification.
func LifeSpec(s *corev1.PodSpec) podlife.Spec {
	out := podlife.Spec{Restart: podlife.Always}
	switch s.RestartPolicy {
	case corev1.RestartPolicyOnFailure:
		out.Restart = podlife.OnFailure
	case corev1.RestartPolicyNever:
		out.Restart = podlife.Never
	}
	for i := range s.InitContainers {
		out.Init = append(out.Init, lifeContainer(&s.InitContainers[i], true))
	}
	for i := range s.Containers {
		out.Containers = append(out.Containers, lifeContainer(&s.Containers[i], false))
	}
	if s.TerminationGracePeriodSeconds != nil {
		out.Grace = max(seconds(*s.TerminationGracePeriodSeconds), time.Second)
	}
	if s.ActiveDeadlineSeconds != nil {
		out.Deadline = max(seconds(*s.ActiveDeadlineSeconds), time.Second)
	}
	return out
}

func lifeContainer(c *corev1.Container, init bool) podlife.Container {
	out := podlife.Container{Name: c.Name, PreStop: c.Lifecycle != nil && c.Lifecycle.PreStop != nil}
	if p := c.RestartPolicy; p != nil {
		policy := podlife.Always
		switch *p {
		case corev1.ContainerRestartPolicyOnFailure:
			policy = podlife.OnFailure
		case corev1.ContainerRestartPolicyNever:
			policy = podlife.Never
		}
		if out.Sidecar = init && policy == podlife.Always; !out.Sidecar {
			out.Restart = &policy
		}
	}
	for i := range c.RestartPolicyRules {
		if rule := &c.RestartPolicyRules[i]; rule.Action == corev1.ContainerRestartRuleActionRestart && rule.ExitCodes != nil {
			out.Rules = append(out.Rules, podlife.RestartRule{Codes: rule.ExitCodes.Values, Not: rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpNotIn})
		}
	}
	lifeProbes(c, &out)
	return out
}

func lifeProbes(c *corev1.Container, out *podlife.Container) {
	for _, p := range []struct {
		probe *corev1.Probe
		kind  podlife.Probes
		grace *time.Duration
	}{
		{c.StartupProbe, podlife.Startup, &out.StartupGrace},
		{c.ReadinessProbe, podlife.Readiness, nil},
		{c.LivenessProbe, podlife.Liveness, &out.LivenessGrace},
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

// LifePhase is a phase as podlife knows it; what it does not know is Pending.
func LifePhase(p corev1.PodPhase) podlife.Phase {
	switch p {
	case corev1.PodRunning:
		return podlife.Running
	case corev1.PodSucceeded:
		return podlife.Succeeded
	case corev1.PodFailed:
		return podlife.Failed
	}
	return podlife.Pending
}

// CrashLoop is why a container waits that is to run again after its delay.
const CrashLoop = "CrashLoopBackOff"

// LifeStatuses is what an agent wrote of a pod's containers, read back.
func LifeStatuses(s *corev1.PodStatus) (out []podlife.Status) {
	for _, cs := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range cs {
			out = append(out, lifeStatus(&cs[i]))
		}
	}
	return out
}

func lifeStatus(c *corev1.ContainerStatus) podlife.Status {
	s := podlife.Status{Name: c.Name, Restarts: c.RestartCount, Ready: c.Ready, Launched: c.Started != nil && *c.Started}
	if t := c.LastTerminationState.Terminated; t != nil {
		s.Last = lifeExit(t)
	}
	switch {
	case c.State.Running != nil:
		s.State, s.Started = podlife.Up, c.State.Running.StartedAt.Time
	case c.State.Terminated != nil:
		s.State, s.Exit = podlife.Ended, *lifeExit(c.State.Terminated)
	case c.State.Waiting != nil && c.State.Waiting.Reason == CrashLoop && s.Last != nil:
		s.State, s.Exit, s.Last = podlife.Ended, *s.Last, nil
	}
	return s
}

// lifeExit leaves out the reasons that podlife takes for granted.
func lifeExit(t *corev1.ContainerStateTerminated) *podlife.Exit {
	x := &podlife.Exit{Code: t.ExitCode, Signal: t.Signal, Reason: t.Reason, Message: t.Message, Started: t.StartedAt.Time, Ended: t.FinishedAt.Time}
	if x.Reason == "Completed" || x.Reason == "Error" {
		x.Reason = ""
	}
	return x
}
