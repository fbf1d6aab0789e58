package agent

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/internal/conversion"
)

// generateStatus returns the pod status to report: the lifecycle state merged with the fields
// of other writers. It sets the start time of a pod without one. The status shares unchanged parts with the stored one.
func generateStatus(p *pod, at time.Time) corev1.PodStatus {
	out := p.object.Status
	out.Conditions = slices.Clone(out.Conditions)
	out.Phase = corev1.PodPhase([...]string{"Pending", "Running", "Succeeded", "Failed"}[p.lifecycle.Phase()])
	out.ObservedGeneration = p.object.Generation
	if out.QOSClass == "" {
		out.QOSClass = conversion.QoS(p.object)
	}
	if f := p.lifecycle.Failure(); f != nil {
		out.Reason, out.Message = f.Reason, f.Message
	}
	now := metav1.NewTime(at.Truncate(time.Second))
	if p.condition != nil && (p.lifecycle.Failure() != nil || p.announceCondition && p.lifecycle.Terminating()) {
		// A loaded node may write the status late. The scheduler compares the time of the eviction with
		// that of the node's conditions.
		evicted := now
		if t := p.condition.LastTransitionTime; !t.IsZero() {
			evicted = metav1.NewTime(t.Truncate(time.Second))
		}
		setPodCondition(&out, *p.condition, p.object.Generation, evicted)
	}
	switch { // a new mirror pod of a running static pod has no start time
	case out.StartTime != nil:
		p.startTime = *out.StartTime
	case p.startTime.IsZero():
		p.startTime = now
	}
	out.StartTime = p.startTime.DeepCopy()
	if p.rejected {
		return out // a rejected pod has no containers
	}
	setAddresses(&out, p)
	init, containers := p.lifecycle.Statuses()
	admitted := p.podWithAllocated()
	out.InitContainerStatuses = convertContainerStatuses(p, init, admitted.Spec.InitContainers)
	out.ContainerStatuses = convertContainerStatuses(p, containers, admitted.Spec.Containers)
	out.EphemeralContainerStatuses = ephemeralStatuses(p)
	setResizeStatus(&out, p, now)
	for _, c := range podConditions(p, init, containers) {
		setPodCondition(&out, c, p.object.Generation, now)
	}
	return out
}

// setAddresses sets pod and host IPs.
func setAddresses(out *corev1.PodStatus, p *pod) {
	for _, a := range p.node.addresses() {
		if a.Type == corev1.NodeInternalIP {
			out.HostIP, out.HostIPs = a.Address, []corev1.HostIP{{IP: a.Address}}
			break
		}
	}
	ips := p.addresses
	if p.object.Spec.HostNetwork && out.HostIP != "" {
		ips = []string{out.HostIP}
	}
	if len(ips) > 0 {
		out.PodIP, out.PodIPs = ips[0], nil
		for _, ip := range ips {
			out.PodIPs = append(out.PodIPs, corev1.PodIP{IP: ip})
		}
	}
}

func convertContainerStatuses(p *pod, runs []podlifecycle.Status, specs []corev1.Container) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for i := range runs {
		r := &runs[i]
		if s := restartingStatus(p, r); s != nil {
			out = append(out, *s)
			continue
		}
		started := r.StartupPassed
		s := corev1.ContainerStatus{
			Name: r.Name, Image: specs[i].Image, RestartCount: r.Restarts, Started: &started,
			Ready: r.Ready || r.State == podlifecycle.ContainerTerminated && r.Exit.Code == 0 && isInitContainer(p, r.Name), State: containerState(p, r),
		}
		id, previousID := "", ""
		if c := p.containerInfos[r.Name]; c != nil {
			id, previousID = c.ID, c.previousID
			s.ImageID = c.ImageID
			if c.Image != "" {
				s.Image = c.Image
			}
		} else if !p.node.hasRuntime && r.State != podlifecycle.ContainerNotStarted {
			s.ImageID = "simulated://" + specs[i].Image
			id = "simulated://" + string(p.object.UID) + "/" + r.Name
			previousID = id
		}
		if s.ContainerID = id; id != "" {
			s.Resources, s.AllocatedResources = p.actualResources(&specs[i]), specs[i].Resources.Requests.DeepCopy()
		}
		if s.State.Terminated != nil {
			s.State.Terminated.ContainerID = id
		}
		switch {
		case r.BackOff:
			s.LastTerminationState.Terminated = terminatedState(&r.Exit)
			s.LastTerminationState.Terminated.ContainerID = id
		case r.Last != nil:
			s.LastTerminationState.Terminated = terminatedState(r.Last)
			s.LastTerminationState.Terminated.ContainerID = previousID
		}
		out = append(out, s)
	}
	return out
}

// ephemeralStatuses returns the statuses of the ephemeral containers. They have no readiness.
func ephemeralStatuses(p *pod) []corev1.ContainerStatus {
	specs := make([]corev1.Container, len(p.object.Spec.EphemeralContainers))
	for i := range specs {
		specs[i] = corev1.Container(p.object.Spec.EphemeralContainers[i].EphemeralContainerCommon)
	}
	out := convertContainerStatuses(p, p.lifecycle.EphemeralStatuses(), specs)
	for i := range out {
		out[i].Started, out[i].Resources, out[i].AllocatedResources = nil, nil, nil
	}
	return out
}

// restartingStatus returns the status of a container that is restarting without backoff. Until
// it runs, it keeps its terminated state. restartingStatus returns nil if another status applies.
func restartingStatus(p *pod, r *podlifecycle.Status) *corev1.ContainerStatus {
	if r.State != podlifecycle.ContainerStarting || r.Reason != "" || r.Last == nil {
		return nil
	}
	for _, list := range [...][]corev1.ContainerStatus{p.object.Status.ContainerStatuses, p.object.Status.InitContainerStatuses} {
		i := slices.IndexFunc(list, func(s corev1.ContainerStatus) bool { return s.Name == r.Name })
		if i < 0 || list[i].RestartCount != r.Restarts-1 || list[i].State.Waiting != nil && list[i].State.Waiting.Reason != conversion.CrashLoopBackOff {
			continue
		}
		s := list[i].DeepCopy()
		if s.State.Running != nil { // the termination was never written
			s.Started, s.Ready = ptr.To(false), false
			s.State = corev1.ContainerState{Terminated: terminatedState(r.Last)}
			s.State.Terminated.ContainerID = s.ContainerID
		}
		return s
	}
	return nil
}

func isInitContainer(p *pod, container string) bool {
	return slices.ContainsFunc(p.object.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == container })
}

func containerState(p *pod, r *podlifecycle.Status) corev1.ContainerState {
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	switch {
	case r.State == podlifecycle.ContainerRunning:
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(r.StartedAt)}}
	case r.BackOff:
		return waiting(conversion.CrashLoopBackOff, fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", r.BackOffDelay, r.Name, formatPod(p.object)))
	case r.State == podlifecycle.ContainerTerminated:
		return corev1.ContainerState{Terminated: terminatedState(&r.Exit)}
	case p.lifecycle.Terminal() && p.lifecycle.Initialized() && !isInitContainer(p, r.Name):
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "ContainerStatusUnknown", Message: "The container could not be located when the pod was terminated"}}
	case r.Reason != "":
		return waiting(r.Reason, r.Message)
	case len(p.object.Spec.InitContainers) > 0:
		return waiting("PodInitializing", "")
	}
	return waiting("ContainerCreating", "")
}

func terminatedState(e *podlifecycle.Exit) *corev1.ContainerStateTerminated {
	reason := e.Reason
	switch {
	case reason != "":
	case e.Code == 0:
		reason = "Completed"
	default:
		reason = "Error"
	}
	return &corev1.ContainerStateTerminated{ExitCode: e.Code, Signal: e.Signal, Reason: reason, Message: e.Message,
		StartedAt: metav1.NewTime(e.StartedAt), FinishedAt: metav1.NewTime(e.FinishedAt)}
}

// statusEqual reports whether two statuses are equal at the API's time resolution of one
// second.
func statusEqual(stored, generated *corev1.PodStatus) bool {
	a, b := withTruncatedTimes(*stored), withTruncatedTimes(*generated)
	return equality.Semantic.DeepEqual(&a, &b)
}

// withTruncatedTimes returns a status with truncated times of containers. It does not modify the states of s.
func withTruncatedTimes(s corev1.PodStatus) corev1.PodStatus {
	for _, list := range []*[]corev1.ContainerStatus{&s.InitContainerStatuses, &s.ContainerStatuses, &s.EphemeralContainerStatuses} {
		*list = slices.Clone(*list)
		for i := range *list {
			truncateTimes(&(*list)[i].State)
			truncateTimes(&(*list)[i].LastTerminationState)
		}
	}
	return s
}

// truncateTimes replaces the parts of a state that contain times.
func truncateTimes(s *corev1.ContainerState) {
	truncate := func(t metav1.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }
	if s.Running != nil {
		s.Running = &corev1.ContainerStateRunning{StartedAt: truncate(s.Running.StartedAt)}
	}
	if s.Terminated != nil {
		t := *s.Terminated
		t.StartedAt, t.FinishedAt = truncate(t.StartedAt), truncate(t.FinishedAt)
		s.Terminated = &t
	}
}
