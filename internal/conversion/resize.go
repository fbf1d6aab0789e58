package conversion

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	helper "k8s.io/component-helpers/resource"
)

// effectivePod is a pod whose specification asks for what scheduling counts while a
// resize is in flight: of each container, and of the pod as a whole if it has
// requests of its own, the largest of what is wanted, allocated and actual; of
// a resize that the node cannot do, not what is wanted. These are the rules of 1.36; the
// library of 1.37 takes the largest of the pod's sums instead. A pod without a
// node has no resize.
func effectivePod(pod *corev1.Pod) *corev1.Pod {
	if pod.Spec.NodeName == "" {
		return pod
	}
	infeasible := helper.IsPodResizeInfeasible(pod)
	out := &corev1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	resizable := func(*corev1.Container) bool { return true }
	out.Spec.Containers = effectiveContainers(pod, pod.Spec.Containers, resizable, infeasible)
	out.Spec.InitContainers = effectiveContainers(pod, pod.Spec.InitContainers, isSidecar, infeasible)
	if r, actual := pod.Spec.Resources, pod.Status.Resources; r != nil && r.Requests != nil && actual != nil {
		own := *r
		counted := maxResources(r.Requests, actual.Requests, pod.Status.AllocatedResources, infeasible)
		own.Requests = corev1.ResourceList{}
		for name := range r.Requests {
			own.Requests[name] = counted[name]
		}
		out.Spec.Resources = &own
	}
	return out
}

// effectiveContainers copies the list only if there is something to change.
// Containers that are not lasting are not resized.
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

// resizeStatus is the status of a container when it tells other amounts than the
// specification; nil when that holds as it stands. Most running containers have a status
// that says the same.
func resizeStatus(pod *corev1.Pod, c *corev1.Container, infeasible bool) *corev1.ContainerStatus {
	if pod.Spec.NodeName == "" {
		return nil
	}
	cs := containerStatus(pod, c.Name)
	if cs == nil || cs.Resources == nil {
		return nil
	}
	wanted := c.Resources.Requests
	if infeasible || cs.AllocatedResources != nil && !equalResources(cs.AllocatedResources, wanted) ||
		cs.Resources.Requests != nil && !equalResources(cs.Resources.Requests, wanted) {
		return cs
	}
	return nil
}

// maxResources is the largest amount of each resource in the lists that count.
func maxResources(wanted, actual, allocated corev1.ResourceList, infeasible bool) corev1.ResourceList {
	out := corev1.ResourceList{}
	lists := []corev1.ResourceList{actual, allocated}
	if !infeasible {
		lists = append(lists, wanted)
	}
	for _, list := range lists {
		for name, q := range list {
			if old, ok := out[name]; !ok || q.Cmp(old) > 0 {
				out[name] = q
			}
		}
	}
	return out
}
