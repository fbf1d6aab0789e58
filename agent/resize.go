package agent

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/internal/conversion"
)

// podResize is the state of a pod's resize. Desired resources are those of the specification,
// allocated ones are those that the node has admitted, actual ones are those that the runtime has
// applied.
type podResize struct {
	allocated *runtime.Resources // nil: the desired ones
	actual    *runtime.Resources // nil: the allocated ones
	target    *corev1.Pod        // passed to the Resize that the runtime is executing
	// admitted caches the object with the allocated resources; admittedOf is the object from which it
	// was built.
	admitted, admittedOf *corev1.Pod
	pending, inProgress  *corev1.PodCondition
}

// podWithAllocated returns the pod with its allocated resources in the specification.
func (p *pod) podWithAllocated() *corev1.Pod {
	r := &p.resize
	if r.allocated == nil {
		return p.object
	}
	if r.admittedOf != p.object {
		r.admitted, r.admittedOf = r.allocated.ApplyTo(p.object), p.object
	}
	return r.admitted
}

// setAllocated sets the allocated resources; nil means the desired ones.
func (p *pod) setAllocated(r *runtime.Resources) {
	p.resize.allocated, p.resize.admitted, p.resize.admittedOf = r, nil, nil
}

// canResize reports whether the pod can be resized: it holds resources and is not terminating.
func (p *pod) canResize() bool {
	return p.reserved && p.object.DeletionTimestamp == nil && !p.lifecycle.Terminating() && !p.lifecycle.Stopped()
}

// observeResources reports whether the desired resources of a pod that holds resources differ from
// those of the previous version of the object. If so, the previous ones stay allocated.
func (p *pod) observeResources(previous *corev1.Pod) (changed bool) {
	if previous.Generation != 0 && previous.Generation == p.object.Generation {
		return false
	}
	before := runtime.SpecResources(previous)
	if before.Equal(runtime.SpecResources(p.object)) {
		return false
	}
	if p.reserved && p.resize.allocated == nil {
		p.setAllocated(&before)
	}
	return p.reserved
}

// tryResize admits the desired resources if the node has the capacity for them. Otherwise the resize is
// pending. It returns the lifecycle events that follow.
func (a *Agent) tryResize(p *pod) []podlifecycle.Event {
	if !p.canResize() || p.resize.allocated == nil {
		return nil
	}
	a.queueStatus(p)
	if p.resize.allocated.Equal(runtime.SpecResources(p.object)) {
		p.setAllocated(nil)
		p.resize.pending = nil
		return nil
	}
	if reason, message := a.checkResize(p); reason != "" {
		a.setResizePending(p, reason, message)
		return nil
	}
	return a.allocate(p)
}

// checkResize returns the kubelet's reason and message if the node cannot admit the desired resources.
func (a *Agent) checkResize(p *pod) (reason, message string) {
	id, ok := a.state.NodeID(p.node.manifest.Name)
	if !ok {
		return "", ""
	}
	desired := a.converter.Pod(withoutResizeStatus(p.object))
	allocatable, requests := a.state.Node(id).Model.Allocatable, desired.Spec.Requests
	switch {
	case requests.Memory > allocatable.Memory:
		return corev1.PodReasonInfeasible, fmt.Sprintf("Node didn't have enough capacity: memory, requested: %d, capacity: %d", requests.Memory, allocatable.Memory)
	case requests.MilliCPU > allocatable.MilliCPU:
		return corev1.PodReasonInfeasible, fmt.Sprintf("Node didn't have enough capacity: cpu, requested: %d, capacity: %d", requests.MilliCPU, allocatable.MilliCPU)
	}
	a.state.RemovePod(string(p.object.UID))
	denials := placement.AdmissionCheck(a.state.Node(id), desired)
	a.countResources(p)
	if len(denials) > 0 {
		return corev1.PodReasonDeferred, denials[0].Message
	}
	return "", ""
}

// countResources counts the allocated resources of the pod on its node.
func (a *Agent) countResources(p *pod) {
	object := p.podWithAllocated()
	if p.resize.allocated != nil || p.resize.actual != nil {
		object = withoutResizeStatus(object)
	}
	a.state.UpsertPod(a.converter.Pod(object))
}

// withoutResizeStatus returns a copy of the pod whose requests are those of the specification alone.
func withoutResizeStatus(object *corev1.Pod) *corev1.Pod {
	out := *object
	out.Status.ContainerStatuses, out.Status.InitContainerStatuses, out.Status.Resources = nil, nil, nil
	return &out
}

// allocate makes the desired resources the allocated ones and applies them. It returns the lifecycle events
// that follow.
func (a *Agent) allocate(p *pod) []podlifecycle.Event {
	before := p.podWithAllocated()
	if p.resize.actual == nil {
		actual := runtime.SpecResources(before)
		p.resize.actual = &actual
	}
	p.setAllocated(nil)
	p.resize.pending = nil
	p.resize.inProgress = &corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue, ObservedGeneration: p.object.Generation}
	a.countResources(p)
	p.node.allocationsChanged = true
	a.recordResize(p, corev1.EventTypeNormal, "ResizeStarted", "Pod resize started", "")
	a.runtime.Update(p.podWithAllocated())
	events := a.applyResize(p)
	if increases, decreases := requestsChange(before, p.object); decreases && !increases {
		a.retryResizes(p.node)
	}
	return events
}

// applyResize passes the allocated resources to the runtime, and returns the restarts of the
// containers that need one.
func (a *Agent) applyResize(p *pod) (restarts []podlifecycle.Event) {
	if p.resize.actual == nil {
		return nil
	}
	actual := p.resize.actual.Clone()
	pod := p.podWithAllocated()
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			c := &list[i]
			from, ok := actual.Containers[c.Name]
			if !ok {
				continue
			}
			if p.containerState(c.Name) == podlifecycle.ContainerRunning && runtime.ResizeRestarts(c, from) {
				restarts = append(restarts, podlifecycle.RestartContainer{Container: c.Name, Resize: true})
			}
		}
	}
	p.resize.actual, p.resize.target = &actual, pod
	a.runtime.Resize(pod, actual)
	return restarts
}

// resumeResize continues the resize of a pod after a restart.
func (a *Agent) resumeResize(p *pod) {
	if !p.canResize() {
		return
	}
	events := a.applyResize(p)
	a.stepPod(p, append(events, a.tryResize(p)...)...)
}

func (a *Agent) handleResizeResult(p *pod, r *runtime.ResizeResult) {
	if p.resize.actual == nil || r.Target != p.resize.target {
		return
	}
	actual := p.resize.actual.Clone()
	actual.Pod = r.Applied.Pod
	for name, applied := range r.Applied.Containers {
		actual.Containers[name] = applied
	}
	p.resize.actual = &actual
	if c := p.resize.inProgress; r.Error != "" {
		if c == nil || c.Message != r.Error {
			p.resize.inProgress = &corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue, Reason: corev1.PodReasonError,
				Message: r.Error, ObservedGeneration: r.Target.Generation}
			a.recordResize(p, corev1.EventTypeWarning, "ResizeError", "Pod resize error", r.Error)
		}
		return
	}
	p.resize.target = nil
	a.completeResize(p)
}

// handleStarted records the resources of a container that has started. It resizes a container that
// was created before the allocation changed.
func (a *Agent) handleStarted(p *pod, name string, current *corev1.ResourceRequirements) []podlifecycle.Event {
	desired, resizable := runtime.SpecResources(p.podWithAllocated()).Containers[name]
	if current == nil || !resizable {
		return nil
	}
	equal := !runtime.ResourceChanged(*current, desired, corev1.ResourceCPU) && !runtime.ResourceChanged(*current, desired, corev1.ResourceMemory)
	if p.resize.actual == nil {
		if equal {
			return nil
		}
		actual := runtime.SpecResources(p.podWithAllocated())
		p.resize.actual = &actual
	}
	p.resize.actual.Containers[name] = *current
	if !equal {
		return a.applyResize(p)
	}
	a.completeResize(p)
	return nil
}

// completeResize ends the resize if the actual resources are the allocated ones. The next start of a
// container that does not run applies them.
func (a *Agent) completeResize(p *pod) {
	if p.resize.actual == nil || p.resize.target != nil {
		return
	}
	allocated := runtime.SpecResources(p.podWithAllocated())
	for name, resources := range allocated.Containers {
		if s := p.containerState(name); s != podlifecycle.ContainerRunning && s != podlifecycle.ContainerStarting {
			p.resize.actual.Containers[name] = resources
		}
	}
	if !p.resize.actual.Equal(allocated) {
		return
	}
	p.resize.actual = nil
	p.node.allocationsChanged = true
	if p.resize.inProgress != nil {
		p.resize.inProgress = nil
		a.recordResize(p, corev1.EventTypeNormal, "ResizeCompleted", "Pod resize completed", "")
	}
}

// retryResizes retries the deferred resizes of a node in the kubelet's order. Resizes that increase
// no request are first. The others follow by priority, QoS class and the time at which they became
// pending.
func (a *Agent) retryResizes(n *node) {
	var deferred []*pod
	for p := range n.deferredResizes {
		if c := p.resize.pending; c == nil || c.Reason != corev1.PodReasonDeferred || !p.canResize() {
			delete(n.deferredResizes, p)
			continue
		}
		deferred = append(deferred, p)
	}
	slices.SortFunc(deferred, compareResizes)
	for _, p := range deferred {
		if p.resize.pending != nil { // an earlier retry may have completed it
			a.stepPod(p, a.tryResize(p)...)
		}
	}
}

// compareResizes orders deferred resizes as retryResizes requires.
func compareResizes(x, y *pod) int {
	rank := func(p *pod) (increases, notGuaranteed int, priority int32) {
		if increase, _ := requestsChange(p.podWithAllocated(), p.object); increase {
			increases = 1
		}
		if conversion.QoS(p.object) != corev1.PodQOSGuaranteed {
			notGuaranteed = 1
		}
		if p.object.Spec.Priority != nil {
			priority = *p.object.Spec.Priority
		}
		return increases, notGuaranteed, priority
	}
	xIncreases, xNotGuaranteed, xPriority := rank(x)
	yIncreases, yNotGuaranteed, yPriority := rank(y)
	return cmp.Or(cmp.Compare(xIncreases, yIncreases), cmp.Compare(yPriority, xPriority), cmp.Compare(xNotGuaranteed, yNotGuaranteed),
		x.resize.pending.LastTransitionTime.Compare(y.resize.pending.LastTransitionTime.Time), compareByName(x.object, y.object))
}

// requestsChange reports whether the CPU or memory requests of a pod increase or decrease.
func requestsChange(from, to *corev1.Pod) (increases, decreases bool) {
	before := resourcehelper.PodRequests(from, resourcehelper.PodResourcesOptions{})
	after := resourcehelper.PodRequests(to, resourcehelper.PodResourcesOptions{})
	for _, order := range []int{after.Cpu().Cmp(*before.Cpu()), after.Memory().Cmp(*before.Memory())} {
		increases, decreases = increases || order > 0, decreases || order < 0
	}
	return increases, decreases
}
