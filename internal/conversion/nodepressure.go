package conversion

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helper "k8s.io/component-helpers/resource"

	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/nodepressure/usage"
)

// EvictionSpec returns the fields of a pod's specification that engine/nodepressure reads beyond those of Converter.Pod.
func EvictionSpec(pod *corev1.Pod) *nodepressure.EvictionSpec {
	source, set := pod.Annotations[annotationConfigSource]
	t := &nodepressure.EvictionSpec{Static: set && source != "api", Grace: pod.Spec.TerminationGracePeriodSeconds, Overhead: convertResources(pod.Spec.Overhead)}
	if helper.IsPodLevelRequestsSet(pod) {
		t.PodMemory = quantity(pod.Spec.Resources.Requests, corev1.ResourceMemory)
	}
	t.EphemeralLimit = quantity(helper.PodLimits(pod, helper.PodResourcesOptions{}), corev1.ResourceEphemeralStorage)
	for i := range pod.Spec.Containers {
		t.Containers = append(t.Containers, pressureContainer(&pod.Spec.Containers[i], false))
	}
	for i := range pod.Spec.InitContainers {
		t.Containers = append(t.Containers, pressureContainer(&pod.Spec.InitContainers[i], true))
	}
	for i := range pod.Spec.Volumes {
		t.Volumes = append(t.Volumes, pressureVolume(&pod.Spec.Volumes[i]))
	}
	return t
}

func pressureContainer(c *corev1.Container, init bool) nodepressure.Container {
	out := nodepressure.Container{Name: c.Name, Init: init, EphemeralLimit: quantity(c.Resources.Limits, corev1.ResourceEphemeralStorage)}
	if q := quantity(c.Resources.Requests, corev1.ResourceMemory); q != nil {
		out.Memory = *q
	}
	if q := quantity(c.Resources.Requests, corev1.ResourceEphemeralStorage); q != nil {
		out.Ephemeral = *q
	}
	return out
}

// pressureVolume converts a volume. Local volumes store data on the node's filesystem.
func pressureVolume(v *corev1.Volume) nodepressure.Volume {
	out := nodepressure.Volume{Name: v.Name}
	s := &v.VolumeSource
	out.Local = s.HostPath != nil || s.ConfigMap != nil || s.GitRepo != nil || s.EmptyDir != nil && s.EmptyDir.Medium != corev1.StorageMediumMemory
	if s.EmptyDir != nil && s.EmptyDir.SizeLimit != nil && s.EmptyDir.SizeLimit.Sign() > 0 {
		q := PressureQuantity(*s.EmptyDir.SizeLimit)
		out.SizeLimit = &q
	}
	return out
}

// quantity returns a resource of a list, or nil.
func quantity(list corev1.ResourceList, name corev1.ResourceName) *nodepressure.Quantity {
	q, ok := list[name]
	if !ok {
		return nil
	}
	out := PressureQuantity(q)
	return &out
}

// PressureQuantity converts a quantity with its format, so that engine/nodepressure prints it as upstream does. It
// rounds fractions up.
func PressureQuantity(q resource.Quantity) nodepressure.Quantity {
	out := nodepressure.Quantity{Amount: q.Value()}
	switch q.Format {
	case resource.DecimalSI:
		out.Format = nodepressure.Decimal
	case resource.DecimalExponent:
		out.Format = nodepressure.Exponent
	}
	return out
}

// SimulatedUsage returns the resource usage of a simulated pod's containers, from its annotations. It skips
// malformed annotations and returns an error for the last one.
func SimulatedUsage(pod *corev1.Pod) (out map[string]*usage.Script, err error) {
	out = map[string]*usage.Script{}
	for i := range pod.Spec.Containers {
		name := pod.Spec.Containers[i].Name
		text, set := pod.Annotations[name+"."+usage.Annotation]
		if !set && i == 0 {
			text, set = pod.Annotations[usage.Annotation]
		}
		if !set {
			continue
		}
		s, parseErr := usage.ParsePod(text)
		if parseErr != nil {
			err = parseErr
			continue
		}
		out[name] = &s
	}
	return out, err
}

// SimulatedCapacity returns the capacity of a simulated node, from its status and annotation.
func SimulatedCapacity(n *corev1.Node) (usage.Capacity, error) {
	memory, allocatable, storage := n.Status.Capacity[corev1.ResourceMemory], n.Status.Allocatable[corev1.ResourceMemory], n.Status.Capacity[corev1.ResourceEphemeralStorage]
	if allocatable.IsZero() {
		allocatable = memory
	}
	return usage.ParseCapacity(n.Annotations[usage.CapacityAnnotation], memory.Value(), allocatable.Value(), storage.Value())
}
