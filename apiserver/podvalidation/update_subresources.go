package podvalidation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubectl/pkg/util/qos"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
	"github.com/berthproject/berth/apiserver/podvalidation/podstrategy"
)

// ValidatePodEphemeralContainersUpdate validates an update of the ephemeralcontainers subresource:
// containers can be added but not changed or removed.
func ValidatePodEphemeralContainersUpdate(newPod, oldPod *corev1.Pod) field.ErrorList {
	if podfields.HasKey(oldPod.Annotations, corev1.MirrorPodAnnotationKey) {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")}
	}
	u := validateUpdate(newPod, oldPod)
	u.validateAnnotationChanges()
	path := field.NewPath("spec", "ephemeralContainers")
	containers := map[string]corev1.EphemeralContainer{}
	for _, container := range newPod.Spec.EphemeralContainers {
		containers[container.Name] = container
	}
	for _, old := range oldPod.Spec.EphemeralContainers {
		container, ok := containers[old.Name]
		if !ok {
			u.forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be removed\n", old.Name))
		} else if !equality.Semantic.DeepEqual(old, container) {
			u.forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v", old.Name, diff.Diff(old, container)))
		}
	}
	return u.errs
}

// ValidatePodResize validates an update of the resize subresource.
func ValidatePodResize(newPod, oldPod *corev1.Pod) field.ErrorList {
	u := validateUpdate(newPod, oldPod)
	if podfields.HasKey(oldPod.Annotations, corev1.MirrorPodAnnotationKey) {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	}
	if oldPod.Spec.OS != nil && oldPod.Spec.OS.Name == corev1.Windows {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "windows pods cannot be resized")}
	}
	path := field.NewPath("spec")
	if qos.GetPodQOS(oldPod) != podstrategy.QOSClass(newPod) {
		u.invalid(path, newPod.Status.QOSClass, "Pod QOS Class may not change as a result of resizing")
	}
	if !nodeCanResize(oldPod) {
		u.forbidden(path, "Pod running on node without support for resize")
	}
	if !u.validateContainerOrder(path) {
		return u.errs
	}
	u.forbidResourceRemoval(path)
	expected := newPod.Spec.DeepCopy()
	for i := range expected.Containers {
		restoreCPUAndMemory(&expected.Containers[i].Resources, &oldPod.Spec.Containers[i].Resources)
		expected.Containers[i].ResizePolicy = oldPod.Spec.Containers[i].ResizePolicy
	}
	for i := range expected.InitContainers {
		if podfields.IsSidecar(&expected.InitContainers[i]) {
			restoreCPUAndMemory(&expected.InitContainers[i].Resources, &oldPod.Spec.InitContainers[i].Resources)
			expected.InitContainers[i].ResizePolicy = oldPod.Spec.InitContainers[i].ResizePolicy
		}
	}
	switch {
	case expected.Resources != nil && oldPod.Spec.Resources != nil:
		restoreCPUAndMemory(expected.Resources, oldPod.Spec.Resources)
	case !hasOnlyCPUAndMemory(expected.Resources) || oldPod.Spec.Resources != nil:
		expected.Resources = newPod.Spec.Resources
	default:
		// Pod-level CPU and memory may be added.
		expected.Resources = nil
	}
	if !equality.Semantic.DeepEqual(*expected, oldPod.Spec) {
		u.forbidden(path, fmt.Sprintf("only cpu and memory resources are mutable\n%v", diff.Diff(*expected, oldPod.Spec)))
	}
	return u.errs
}

// nodeCanResize reports whether the node supports resize. Nodes without support do not report
// resources of running containers.
func nodeCanResize(pod *corev1.Pod) bool {
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Running != nil {
			return status.Resources != nil
		}
	}
	return true
}

// validateContainerOrder rejects added, removed, renamed and reordered containers, and reports whether there are none.
func (u *updateValidator) validateContainerOrder(path *field.Path) bool {
	valid := true
	check := func(newContainers, oldContainers []corev1.Container, fldPath *field.Path) {
		if len(newContainers) != len(oldContainers) {
			u.forbidden(fldPath, "containers may not be added or removed on resize")
			valid = false
			return
		}
		for i := range newContainers {
			if newContainers[i].Name != oldContainers[i].Name {
				u.forbidden(fldPath.Index(i).Child("name"), "containers may not be renamed or reordered on resize")
				valid = false
			}
		}
	}
	check(u.new.Spec.Containers, u.old.Spec.Containers, path.Child("containers"))
	check(u.new.Spec.InitContainers, u.old.Spec.InitContainers, path.Child("initContainers"))
	return valid
}

// forbidResourceRemoval rejects the removal of requests and limits.
func (u *updateValidator) forbidResourceRemoval(path *field.Path) {
	check := func(newResources, oldResources *corev1.ResourceRequirements, fldPath *field.Path) {
		if removesResource(newResources.Requests, oldResources.Requests) {
			u.forbidden(fldPath.Child("requests"), "resource requests cannot be removed")
		}
		if removesResource(newResources.Limits, oldResources.Limits) {
			u.forbidden(fldPath.Child("limits"), "resource limits cannot be removed")
		}
	}
	for i := range u.new.Spec.InitContainers {
		check(&u.new.Spec.InitContainers[i].Resources, &u.old.Spec.InitContainers[i].Resources, path.Child("initContainers").Index(i).Child("resources"))
	}
	for i := range u.new.Spec.Containers {
		check(&u.new.Spec.Containers[i].Resources, &u.old.Spec.Containers[i].Resources, path.Child("containers").Index(i).Child("resources"))
	}
	if u.old.Spec.Resources != nil {
		newResources := podfields.Deref(u.new.Spec.Resources)
		check(&newResources, u.old.Spec.Resources, path.Child("resources"))
	}
}

func removesResource(newList, oldList corev1.ResourceList) bool {
	for name := range oldList {
		if _, ok := newList[name]; !ok {
			return true
		}
	}
	return false
}

// restoreCPUAndMemory sets CPU and memory to the values of old.
func restoreCPUAndMemory(resources, old *corev1.ResourceRequirements) {
	resources.Limits = withCPUAndMemoryOf(resources.Limits, old.Limits)
	resources.Requests = withCPUAndMemoryOf(resources.Requests, old.Requests)
}

func withCPUAndMemoryOf(list, old corev1.ResourceList) corev1.ResourceList {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		delete(list, name)
		if quantity, ok := old[name]; ok {
			if list == nil {
				list = corev1.ResourceList{}
			}
			list[name] = quantity
		}
	}
	return list
}

func hasOnlyCPUAndMemory(resources *corev1.ResourceRequirements) bool {
	if resources == nil {
		return true
	}
	for _, list := range []corev1.ResourceList{resources.Limits, resources.Requests} {
		for name := range list {
			if name != corev1.ResourceCPU && name != corev1.ResourceMemory {
				return false
			}
		}
	}
	return len(resources.Claims) == 0
}
