package conversion

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	helper "k8s.io/component-helpers/resource"

	"github.com/berthproject/berth/engine/model"
)

// effectivePod returns a pod whose requests are what scheduling counts while a resize is in progress. For each
// container, and for pod-level requests, that is the largest of desired, allocated and actual. For an infeasible
// resize the desired value does not count. These are the rules of Kubernetes 1.36; the library of 1.37 uses the
// largest of the pod's sums instead. A pod without a node has no resize.
func effectivePod(pod *corev1.Pod) *corev1.Pod {
	if pod.Spec.NodeName == "" {
		return pod
	}
	return largestRequests(pod, helper.IsPodResizeInfeasible(pod))
}

// deferredResize returns the resize that the node of a pod has deferred, or nil.
func deferredResize(pod *corev1.Pod) *model.DeferredResize {
	if pod.Spec.NodeName == "" || !helper.IsPodResizeDeferred(pod) {
		return nil
	}
	return &model.DeferredResize{Current: convertResources(helper.PodRequests(largestRequests(pod, true), helper.PodResourcesOptions{}))}
}

// largestRequests returns a pod whose requests are the largest of allocated, actual and, unless the resize is
// infeasible, desired.
func largestRequests(pod *corev1.Pod, infeasible bool) *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	resizable := func(*corev1.Container) bool { return true }
	out.Spec.Containers = effectiveContainers(pod, pod.Spec.Containers, resizable, infeasible)
	out.Spec.InitContainers = effectiveContainers(pod, pod.Spec.InitContainers, isSidecar, infeasible)
	if r, actual := pod.Spec.Resources, pod.Status.Resources; r != nil && r.Requests != nil && actual != nil {
		resources := *r
		counted := maxResources(r.Requests, actual.Requests, pod.Status.AllocatedResources, infeasible)
		resources.Requests = corev1.ResourceList{}
		for name := range r.Requests {
			resources.Requests[name] = counted[name]
		}
		out.Spec.Resources = &resources
	}
	return out
}

// effectiveContainers returns list with the effective requests of resizable containers. It copies the list
// only if a container changes.
func effectiveContainers(pod *corev1.Pod, list []corev1.Container, resizable func(*corev1.Container) bool, infeasible bool) []corev1.Container {
	out := list
	for i := range list {
		cs := resizeStatus(pod, &list[i], infeasible)
		if cs == nil || !resizable(&list[i]) {
			continue
		}
		if &out[0] == &list[0] {
			out = slices.Clone(list)
		}
		out[i].Resources.Requests = maxResources(list[i].Resources.Requests, cs.Resources.Requests, cs.AllocatedResources, infeasible)
	}
	return out
}

// resizeStatus returns the status of a container whose resources differ from the specification, or
// nil. If the resize is infeasible, it returns the status without comparing. Most running containers
// have a status with the same resources.
func resizeStatus(pod *corev1.Pod, c *corev1.Container, infeasible bool) *corev1.ContainerStatus {
	if pod.Spec.NodeName == "" {
		return nil
	}
	cs := containerStatus(pod, c.Name)
	if cs == nil || cs.Resources == nil {
		return nil
	}
	desired := c.Resources.Requests
	if infeasible || cs.AllocatedResources != nil && !equalResources(cs.AllocatedResources, desired) ||
		cs.Resources.Requests != nil && !equalResources(cs.Resources.Requests, desired) {
		return cs
	}
	return nil
}

// maxResources returns the largest amount of each resource. It ignores desired if the resize is infeasible.
func maxResources(desired, actual, allocated corev1.ResourceList, infeasible bool) corev1.ResourceList {
	out := corev1.ResourceList{}
	lists := []corev1.ResourceList{actual, allocated}
	if !infeasible {
		lists = append(lists, desired)
	}
	for _, list := range lists {
		for name, q := range list {
			if largest, ok := out[name]; !ok || q.Cmp(largest) > 0 {
				out[name] = q
			}
		}
	}
	return out
}
