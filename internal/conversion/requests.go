package conversion

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helper "k8s.io/component-helpers/resource"

	"github.com/berthproject/berth/engine/model"
)

// Requests assumed for scoring, for containers without requests.
const (
	defaultMilliCPU = 100
	defaultMemory   = 200 << 20
)

// convertRequests converts the requests. The upstream library computes the sums,
// including a resize in progress.
func convertRequests(s *model.PodSpec, pod *corev1.Pod) {
	effective := effectivePod(pod)
	options := helper.PodResourcesOptions{}
	list := helper.PodRequests(effective, options)
	s.Requests = convertResources(list)
	podLevel := helper.IsPodLevelRequestsSet(effective)
	options.NonMissingContainerRequests = corev1.ResourceList{}
	if _, set := list[corev1.ResourceCPU]; !podLevel || !set {
		options.NonMissingContainerRequests[corev1.ResourceCPU] = *resource.NewMilliQuantity(defaultMilliCPU, resource.DecimalSI)
	}
	if _, set := list[corev1.ResourceMemory]; !podLevel || !set {
		options.NonMissingContainerRequests[corev1.ResourceMemory] = *resource.NewQuantity(defaultMemory, resource.BinarySI)
	}
	s.Scoring = convertResources(helper.PodRequests(effective, options))
	if podLevel {
		requests := convertResources(helper.PodRequests(pod, helper.PodResourcesOptions{
			SkipPodLevelResources: true,
			NonMissingContainerRequests: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewMilliQuantity(defaultMilliCPU, resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(defaultMemory, resource.BinarySI),
			},
		}))
		s.ScoringIncoming = &requests
	}
	s.BestEffort = isBestEffort(pod)
}

// convertResources converts the resources that scheduling counts, without the number of pods.
func convertResources(list corev1.ResourceList) model.Resources {
	var r model.Resources
	for name, q := range list {
		switch name {
		case corev1.ResourceCPU:
			r.MilliCPU = q.MilliValue()
		case corev1.ResourceMemory:
			r.Memory = q.Value()
		case corev1.ResourceEphemeralStorage:
			r.Ephemeral = q.Value()
		default:
			if isScalarResource(string(name)) {
				r.Scalars = append(r.Scalars, model.Scalar{Name: string(name), Amount: q.Value()})
			}
		}
	}
	slices.SortFunc(r.Scalars, func(a, b model.Scalar) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// isScalarResource reports whether a resource is counted by name: extended resources, huge
// pages, attachable volumes, and any name with kubernetes.io/ in it.
func isScalarResource(name string) bool {
	return model.IsExtendedResource(name) || strings.HasPrefix(name, corev1.ResourceHugePagesPrefix) ||
		strings.HasPrefix(name, corev1.ResourceAttachableVolumesPrefix) || strings.Contains(name, corev1.ResourceDefaultNamespacePrefix)
}

// isBestEffort reports whether no container, nor the pod itself, has a request or limit of cpu
// or memory.
func isBestEffort(pod *corev1.Pod) bool {
	if r := pod.Spec.Resources; r != nil && (hasCPUOrMemory(r.Requests) || hasCPUOrMemory(r.Limits)) {
		return false
	}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if hasCPUOrMemory(list[i].Resources.Requests) || hasCPUOrMemory(list[i].Resources.Limits) {
				return false
			}
		}
	}
	return true
}

func hasCPUOrMemory(list corev1.ResourceList) bool {
	cpu, memory := list[corev1.ResourceCPU], list[corev1.ResourceMemory]
	return cpu.Sign() > 0 || memory.Sign() > 0
}
