package intake

import (
	"strings"
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
		c := &s.InitContainers[i]
		out.Init = append(out.Init, podlife.Container{Name: c.Name, PreStop: preStops(c), Sidecar: c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways})
	}
	for i := range s.Containers {
		out.Containers = append(out.Containers, podlife.Container{Name: s.Containers[i].Name, PreStop: preStops(&s.Containers[i])})
	}
	if s.TerminationGracePeriodSeconds != nil {
		const longest = int64(100 * 365 * 24 * 3600) // more makes no difference
		out.Grace = max(time.Duration(min(*s.TerminationGracePeriodSeconds, longest))*time.Second, time.Second)
	}
	return out
}

func preStops(c *corev1.Container) bool { return c.Lifecycle != nil && c.Lifecycle.PreStop != nil }

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
	s := podlife.Status{Name: c.Name, Restarts: c.RestartCount}
	if t := c.LastTerminationState.Terminated; t != nil {
		s.Last = lifeExit(t)
	}
	switch {
	case c.State.Running != nil:
		s.State, s.Started = podlife.Up, c.State.Running.StartedAt.Time
	case c.State.Terminated != nil:
		s.State, s.Exit = podlife.Ended, *lifeExit(c.State.Terminated)
	case c.State.Waiting != nil && strings.HasSuffix(c.State.Waiting.Reason, "BackOff") && s.Last != nil:
		s.State, s.Exit, s.Last = podlife.Ended, *s.Last, nil
	}
	return s
}

func lifeExit(t *corev1.ContainerStateTerminated) *podlife.Exit {
	return &podlife.Exit{Code: t.ExitCode, Started: t.StartedAt.Time, Ended: t.FinishedAt.Time}
}
