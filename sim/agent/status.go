package agent

import (
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/internal/conversion"
)

// statusOf returns the status that an agent reports for a pod, and whether it changed.
func (a *Agents) statusOf(p *agentPod) (corev1.PodStatus, bool) {
	previous := &p.object.Status
	out := *previous
	out.Phase = [...]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}[p.lifecycle.Phase()]
	now := metav1.NewTime(a.w.Now().Truncate(time.Second))
	if out.StartTime == nil {
		out.StartTime = &now
	}
	if out.Phase == corev1.PodRunning && out.PodIP == "" {
		out.PodIP = a.newAddress()
		out.PodIPs = []corev1.PodIP{{IP: out.PodIP}}
	}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: now}
	if p.lifecycle.Ready() {
		ready.Status = corev1.ConditionTrue
	}
	init, containers := p.lifecycle.Statuses()
	out.InitContainerStatuses, out.ContainerStatuses = containerStatuses(init), containerStatuses(containers)
	out.Conditions = []corev1.PodCondition{ready}
	if f := p.lifecycle.Failure(); f != nil {
		out.Reason, out.Message = f.Reason, f.Message
		if p.evicted != nil && p.evicted.Condition {
			out.Conditions = append(out.Conditions, conversion.NewDisruptionTarget(nodepressure.ReasonTerminationByKubelet, f.Message, now.Time))
		}
	}
	i := slices.IndexFunc(previous.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	changed := out.Phase != previous.Phase || previous.StartTime == nil || i < 0 || previous.Conditions[i].Status != ready.Status ||
		!slices.EqualFunc(out.InitContainerStatuses, previous.InitContainerStatuses, sameContainerState) ||
		!slices.EqualFunc(out.ContainerStatuses, previous.ContainerStatuses, sameContainerState)
	return out, changed
}

// newAddress returns an IP address that no other pod has: the next one of 10.0.0.0/8.
func (a *Agents) newAddress() string {
	a.addresses++
	return netip.AddrFrom4([4]byte{10, byte(a.addresses >> 16), byte(a.addresses >> 8), byte(a.addresses)}).String()
}

// mergeConditions returns the previous conditions with the reported ones applied.
func mergeConditions(previous, reported []corev1.PodCondition) []corev1.PodCondition {
	out := slices.Clone(previous)
	for _, c := range reported {
		i := slices.IndexFunc(out, func(o corev1.PodCondition) bool { return o.Type == c.Type })
		if i < 0 {
			out = append(out, c)
		} else if out[i].Status != c.Status {
			out[i] = c
		}
	}
	return out
}

func containerStatuses(runs []podlifecycle.Status) []corev1.ContainerStatus {
	out := make([]corev1.ContainerStatus, 0, len(runs))
	for _, r := range runs {
		s := corev1.ContainerStatus{Name: r.Name, RestartCount: r.Restarts, Ready: r.State == podlifecycle.ContainerRunning}
		switch r.State {
		case podlifecycle.ContainerRunning:
			s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(r.StartedAt)}
		case podlifecycle.ContainerTerminated:
			s.State.Terminated = terminated(&r.Exit)
		default:
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		}
		if r.Last != nil {
			s.LastTerminationState.Terminated = terminated(r.Last)
		}
		out = append(out, s)
	}
	return out
}

func terminated(e *podlifecycle.Exit) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ExitCode: e.Code, StartedAt: metav1.NewTime(e.StartedAt), FinishedAt: metav1.NewTime(e.FinishedAt)}
}

// sameContainerState reports whether two container statuses need no update.
func sameContainerState(a, b corev1.ContainerStatus) bool {
	return a.Name == b.Name && a.RestartCount == b.RestartCount && a.Ready == b.Ready &&
		(a.State.Running == nil) == (b.State.Running == nil) && (a.State.Terminated == nil) == (b.State.Terminated == nil)
}
