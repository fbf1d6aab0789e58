package agent

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/podlife"
)

// status is the pod's status as it is to be reported: what the life says, and
// what others have written there.
func status(p *pod, n *node) corev1.PodStatus {
	was := &p.object.Status
	out := *was.DeepCopy()
	out.Phase = corev1.PodPhase([...]string{"Pending", "Running", "Succeeded", "Failed"}[p.life.Phase()])
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	if out.StartTime == nil {
		out.StartTime = &now
	}
	for _, a := range n.want.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			out.HostIP, out.HostIPs = a.Address, []corev1.HostIP{{IP: a.Address}}
		}
	}
	ip := p.address
	if p.object.Spec.HostNetwork {
		ip = out.HostIP
	}
	if ip != "" {
		out.PodIP, out.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	}
	init, containers := p.life.Statuses()
	out.InitContainerStatuses = containerStatuses(p, init, p.object.Spec.InitContainers)
	out.ContainerStatuses = containerStatuses(p, containers, p.object.Spec.Containers)
	ended := out.Phase == corev1.PodSucceeded || out.Phase == corev1.PodFailed
	reason := ""
	if out.Phase == corev1.PodSucceeded {
		reason = "PodCompleted"
	}
	set(&out, corev1.PodReadyToStartContainers, !ended && !p.gone, "", now)
	set(&out, corev1.PodInitialized, p.life.Initialized(), reason, now)
	set(&out, corev1.PodReady, p.life.Ready(), notReady(p, reason), now)
	set(&out, corev1.ContainersReady, p.life.Ready(), notReady(p, reason), now)
	set(&out, corev1.PodScheduled, true, "", now)
	return out
}

func notReady(p *pod, reason string) string {
	switch {
	case p.life.Ready():
		return ""
	case reason != "":
		return reason
	case p.life.Phase() == podlife.Failed:
		return "PodFailed"
	}
	return "ContainersNotReady"
}

// set puts a condition in place; one that stays as it was keeps its time.
func set(s *corev1.PodStatus, t corev1.PodConditionType, holds bool, reason string, now metav1.Time) {
	c := corev1.PodCondition{Type: t, Status: corev1.ConditionFalse, Reason: reason, LastTransitionTime: now}
	if holds {
		c.Status = corev1.ConditionTrue
	}
	i := slices.IndexFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == t })
	if i < 0 {
		s.Conditions = append(s.Conditions, c)
		return
	}
	c.ObservedGeneration = s.Conditions[i].ObservedGeneration
	if s.Conditions[i].Status == c.Status {
		c.LastTransitionTime = s.Conditions[i].LastTransitionTime
	}
	s.Conditions[i] = c
}

func containerStatuses(p *pod, runs []podlife.Status, specs []corev1.Container) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for i, r := range runs {
		up := r.State == podlife.Up
		s := corev1.ContainerStatus{
			Name: r.Name, Image: specs[i].Image, ImageID: "simulated://" + specs[i].Image,
			RestartCount: r.Restarts, Started: &up, Ready: up || r.State == podlife.Ended && r.Exit.Code == 0 && isInit(p, r.Name),
			State: state(p, r),
		}
		if r.State != podlife.Idle {
			s.ContainerID = "simulated://" + string(p.object.UID) + "/" + r.Name
		}
		if r.Last != nil {
			s.LastTerminationState.Terminated = terminated(r.Last)
		}
		if r.BackOff {
			s.LastTerminationState.Terminated = terminated(&r.Exit)
		}
		out = append(out, s)
	}
	return out
}

func isInit(p *pod, container string) bool {
	return slices.ContainsFunc(p.object.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == container })
}

func state(p *pod, r podlife.Status) corev1.ContainerState {
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	switch {
	case r.State == podlife.Up:
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(r.Started)}}
	case r.BackOff:
		return waiting("CrashLoopBackOff", "back-off restarting failed container="+r.Name+" pod="+p.object.Name)
	case r.State == podlife.Ended:
		return corev1.ContainerState{Terminated: terminated(&r.Exit)}
	case !p.life.Initialized() && !isInit(p, r.Name):
		return waiting("PodInitializing", "")
	}
	return waiting("ContainerCreating", "")
}

func terminated(e *podlife.Exit) *corev1.ContainerStateTerminated {
	reason := "Error"
	if e.Code == 0 {
		reason = "Completed"
	}
	return &corev1.ContainerStateTerminated{ExitCode: e.Code, Reason: reason, StartedAt: metav1.NewTime(e.Started), FinishedAt: metav1.NewTime(e.Ended)}
}

// same says that nothing is to be written: stored times have whole seconds.
func same(was, is *corev1.PodStatus) bool {
	a, b := was.DeepCopy(), is.DeepCopy()
	for _, s := range []*corev1.PodStatus{a, b} {
		for _, cs := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
			for i := range cs {
				truncate(&cs[i].State)
				truncate(&cs[i].LastTerminationState)
			}
		}
	}
	return equality.Semantic.DeepEqual(a, b)
}

func truncate(s *corev1.ContainerState) {
	cut := func(t *metav1.Time) { t.Time = t.Time.Truncate(time.Second) }
	if s.Running != nil {
		cut(&s.Running.StartedAt)
	}
	if s.Terminated != nil {
		cut(&s.Terminated.StartedAt)
		cut(&s.Terminated.FinishedAt)
	}
}
