package agent

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// setResizePending records that the resize is pending: deferred or infeasible. It keeps the
// transition time of an existing condition.
func (a *Agent) setResizePending(p *pod, reason, message string) {
	previous := p.resize.pending
	c := &corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: reason, Message: message,
		ObservedGeneration: p.object.Generation, LastTransitionTime: metav1.NewTime(a.env.now())}
	if previous != nil {
		c.LastTransitionTime = previous.LastTransitionTime
	}
	p.resize.pending = c
	if reason == corev1.PodReasonDeferred {
		p.node.deferredResizes[p] = true
	}
	if previous == nil || previous.Reason != c.Reason || previous.Message != c.Message || previous.ObservedGeneration != c.ObservedGeneration {
		a.recordResize(p, corev1.EventTypeWarning, "Resize"+reason, "Pod resize "+reason, message)
	}
}

// recordResize records an event about a resize, with the desired resources as the kubelet writes
// them.
func (a *Agent) recordResize(p *pod, eventType, reason, summary, failure string) {
	type container struct {
		Name      string                      `json:"name"`
		Resources corev1.ResourceRequirements `json:"resources"`
	}
	details := struct {
		Containers []container `json:"containers,omitempty"`
		Generation int64       `json:"generation"`
		Error      string      `json:"error,omitempty"`
	}{Generation: p.object.Generation, Error: failure}
	for _, list := range [][]corev1.Container{p.object.Spec.InitContainers, p.object.Spec.Containers} {
		for i := range list {
			details.Containers = append(details.Containers, container{list[i].Name, list[i].Resources})
		}
	}
	text, err := json.Marshal(details)
	if err != nil {
		text = []byte(failure)
	}
	a.opts.Events.Eventf(p.object, eventType, reason, "%s: %s", summary, text)
}

// setResizeStatus sets the conditions of the resize and the resources of the pod.
func setResizeStatus(out *corev1.PodStatus, p *pod, now metav1.Time) {
	for t, c := range map[corev1.PodConditionType]*corev1.PodCondition{corev1.PodResizePending: p.resize.pending, corev1.PodResizeInProgress: p.resize.inProgress} {
		if c != nil && !p.lifecycle.Stopped() {
			setPodCondition(out, *c, c.ObservedGeneration, now)
			continue
		}
		out.Conditions = slices.DeleteFunc(out.Conditions, func(o corev1.PodCondition) bool { return o.Type == t })
	}
	pod := p.podWithAllocated()
	if pod.Spec.Resources == nil {
		return
	}
	out.AllocatedResources, out.Resources = pod.Spec.Resources.Requests.DeepCopy(), pod.Spec.Resources.DeepCopy()
	if p.resize.actual != nil {
		out.Resources = p.resize.actual.Pod.DeepCopy()
	}
}

// actualResources returns the resources that the runtime has applied to a container.
func (p *pod) actualResources(c *corev1.Container) *corev1.ResourceRequirements {
	if p.resize.actual != nil {
		if resources, ok := p.resize.actual.Containers[c.Name]; ok {
			return resources.DeepCopy()
		}
	}
	return c.Resources.DeepCopy()
}

// restoreResize restores allocated and actual resources after a restart: from the stored allocations,
// otherwise from the pod's status.
func (a *Agent) restoreResize(p *pod) {
	stored, ok := p.node.restoredAllocations[p.object.UID]
	if !ok {
		stored = allocationOf(p.object)
	}
	if stored.Allocated != nil && !stored.Allocated.Equal(runtime.SpecResources(p.object)) {
		p.setAllocated(stored.Allocated)
	}
	if stored.Actual != nil && !stored.Actual.Equal(runtime.SpecResources(p.podWithAllocated())) {
		p.resize.actual = stored.Actual
	}
	for i := range p.object.Status.Conditions {
		c := p.object.Status.Conditions[i]
		switch {
		case c.Type == corev1.PodResizePending && p.resize.allocated != nil:
			p.resize.pending = &c
		case c.Type == corev1.PodResizeInProgress && p.resize.actual != nil:
			p.resize.inProgress = &c
		}
	}
}

// allocationOf returns the resources that the pod's status reports. The status has those of created containers
// only; the others have the resources of the specification.
func allocationOf(object *corev1.Pod) Allocation {
	allocated := runtime.SpecResources(object).Clone()
	actual := allocated.Clone()
	for _, list := range [][]corev1.ContainerStatus{object.Status.InitContainerStatuses, object.Status.ContainerStatuses} {
		for i := range list {
			s := &list[i]
			if _, resizable := allocated.Containers[s.Name]; !resizable || s.Resources == nil || s.AllocatedResources == nil {
				continue
			}
			actual.Containers[s.Name] = *s.Resources
			resources := *s.Resources
			resources.Requests = s.AllocatedResources
			allocated.Containers[s.Name] = resources
		}
	}
	return Allocation{Allocated: &allocated, Actual: &actual}
}
