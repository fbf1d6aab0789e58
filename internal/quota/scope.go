package quota

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubectl/pkg/util/qos"
)

func podMatchesScope(scope corev1.ScopedResourceSelectorRequirement, obj runtime.Object) (bool, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return false, fmt.Errorf("unexpected input object %v", obj)
	}
	hasDeadline := pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
	switch scope.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return hasDeadline, nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return !hasDeadline, nil
	case corev1.ResourceQuotaScopeBestEffort:
		return qos.ComputePodQOS(pod) == corev1.PodQOSBestEffort, nil
	case corev1.ResourceQuotaScopeNotBestEffort:
		return qos.ComputePodQOS(pod) != corev1.PodQOSBestEffort, nil
	case corev1.ResourceQuotaScopePriorityClass:
		return matchesScopeValue(scope, pod.Spec.PriorityClassName), nil
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return hasCrossNamespaceAffinity(pod), nil
	}
	return false, nil
}

// claimMatchesScope reports whether a claim is in a scope. A claim has up to three volume attributes classes: the
// requested, the current, and the target of a change that has not ended.
func claimMatchesScope(scope corev1.ScopedResourceSelectorRequirement, obj runtime.Object) (bool, error) {
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return false, fmt.Errorf("unexpected input object %v", obj)
	}
	if scope.ScopeName != corev1.ResourceQuotaScopeVolumeAttributesClass {
		return false, nil
	}
	var classes []string
	for _, name := range []*string{claim.Spec.VolumeAttributesClassName, claim.Status.CurrentVolumeAttributesClassName} {
		if name != nil && *name != "" {
			classes = append(classes, *name)
		}
	}
	if change := claim.Status.ModifyVolumeStatus; change != nil && change.TargetVolumeAttributesClassName != "" {
		classes = append(classes, change.TargetVolumeAttributesClassName)
	}
	if len(classes) == 0 {
		return matchesScopeValue(scope, ""), nil
	}
	return slices.ContainsFunc(classes, func(name string) bool { return matchesScopeValue(scope, name) }), nil
}

func matchesScopeValue(scope corev1.ScopedResourceSelectorRequirement, value string) bool {
	listed := value != "" && slices.Contains(scope.Values, value)
	switch scope.Operator {
	case corev1.ScopeSelectorOpIn:
		return listed
	case corev1.ScopeSelectorOpNotIn:
		return !listed
	case corev1.ScopeSelectorOpDoesNotExist:
		return value == ""
	}
	return value != ""
}

// hasCrossNamespaceAffinity reports whether an affinity term of a pod selects pods of other namespaces.
func hasCrossNamespaceAffinity(pod *corev1.Pod) bool {
	if pod.Spec.Affinity == nil {
		return false
	}
	var required []corev1.PodAffinityTerm
	var preferred []corev1.WeightedPodAffinityTerm
	if a := pod.Spec.Affinity.PodAffinity; a != nil {
		required, preferred = a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution
	}
	if a := pod.Spec.Affinity.PodAntiAffinity; a != nil {
		required = slices.Concat(required, a.RequiredDuringSchedulingIgnoredDuringExecution)
		preferred = slices.Concat(preferred, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	isCrossNamespace := func(term corev1.PodAffinityTerm) bool {
		return len(term.Namespaces) > 0 || term.NamespaceSelector != nil
	}
	return slices.ContainsFunc(required, isCrossNamespace) ||
		slices.ContainsFunc(preferred, func(w corev1.WeightedPodAffinityTerm) bool { return isCrossNamespace(w.PodAffinityTerm) })
}
