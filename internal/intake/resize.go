package intake

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	helper "k8s.io/component-helpers/resource"
)

// inEffect is a pod whose specification asks for what scheduling counts while a
// resize is in flight: of each container, and of the pod as a whole if it has
// requests of its own, the largest of what is wanted, allocated and actual; of
// a resize that the node cannot do, not what is wanted. These are the rules of 1.36; the
// library of 1.37 takes the largest of the pod's sums instead. A pod without a
// node has no resize.
func inEffect(pod *corev1.Pod) *corev1.Pod {
	if pod.Spec.NodeName == "" {
		return pod
	}
	infeasible := helper.IsPodResizeInfeasible(pod)
	out := &corev1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	lasting := func(*corev1.Container) bool { return true }
	out.Spec.Containers = containersInEffect(pod, pod.Spec.Containers, lasting, infeasible)
	out.Spec.InitContainers = containersInEffect(pod, pod.Spec.InitContainers, sidecar, infeasible)
	if r, actual := pod.Spec.Resources, pod.Status.Resources; r != nil && r.Requests != nil && actual != nil {
		own := *r
		counted := largest(r.Requests, actual.Requests, pod.Status.AllocatedResources, infeasible)
		own.Requests = corev1.ResourceList{}
		for name := range r.Requests {
			own.Requests[name] = counted[name]
		}
		out.Spec.Resources = &own
	}
	return out
}

// containersInEffect copies the list only if there is something to change.
// Containers that are not lasting are not resized.
func containersInEffect(pod *corev1.Pod, list []corev1.Container, lasting func(*corev1.Container) bool, infeasible bool) []corev1.Container {
	out := list
	for i := range list {
		cs := resizing(pod, &list[i], infeasible)
		if cs == nil || !lasting(&list[i]) {
			continue
		}
		if &out[0] == &list[0] {
			out = slices.Clone(list)
		}
		out[i].Resources.Requests = largest(list[i].Resources.Requests, cs.Resources.Requests, cs.AllocatedResources, infeasible)
	}
	return out
}

// resizing is the status of a container when it tells other amounts than the
// specification; nil when that holds as it stands. Most running containers have a status
// that says the same.
func resizing(pod *corev1.Pod, c *corev1.Container, infeasible bool) *corev1.ContainerStatus {
	if pod.Spec.NodeName == "" {
		return nil
	}
	cs := containerStatus(pod, c.Name)
	if cs == nil || cs.Resources == nil {
		return nil
	}
	wanted := c.Resources.Requests
	if infeasible || cs.AllocatedResources != nil && !sameAmounts(cs.AllocatedResources, wanted) ||
		cs.Resources.Requests != nil && !sameAmounts(cs.Resources.Requests, wanted) {
		return cs
	}
	return nil
}

// largest is the largest amount of each resource in the lists that count.
func largest(wanted, actual, allocated corev1.ResourceList, infeasible bool) corev1.ResourceList {
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
