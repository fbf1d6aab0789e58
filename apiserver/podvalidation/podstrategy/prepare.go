package podstrategy

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// PrepareForCreate prepares a new pod: it resets the status to Pending, sets the QoS class and the SchedulingGated
// condition, and clears disabled fields. It merges matchLabelKeys and mismatchLabelKeys into selectors, and sets
// AppArmor fields from annotations.
func PrepareForCreate(pod *corev1.Pod) {
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: QOSClass(pod)}
	dropDisabledFields(&pod.Spec)
	poddefaults.AliasServiceAccount(&pod.Spec)
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type:               corev1.PodScheduled,
			Status:             corev1.ConditionFalse,
			Reason:             corev1.PodReasonSchedulingGated,
			Message:            "Scheduling is blocked due to non-empty scheduling gates",
			LastTransitionTime: metav1.Now(),
		}}
	}
	mergeAffinityLabelKeys(pod)
	mergeSpreadLabelKeys(pod)
	applyAppArmorAnnotations(pod)
}

// PrepareForUpdate restores the status, which an update cannot change, and clears disabled fields.
func PrepareForUpdate(newPod, oldPod *corev1.Pod) {
	newPod.Status = *oldPod.Status.DeepCopy()
	poddefaults.AliasServiceAccount(&newPod.Spec)
	dropDisabledFieldsOnUpdate(&newPod.Spec, &oldPod.Spec)
}

// PrepareTemplate clears disabled fields of a template. oldTemplate is nil on creation.
func PrepareTemplate(newTemplate, oldTemplate *corev1.PodTemplateSpec) {
	poddefaults.AliasServiceAccount(&newTemplate.Spec)
	if oldTemplate == nil {
		dropDisabledFields(&newTemplate.Spec)
	} else {
		dropDisabledFieldsOnUpdate(&newTemplate.Spec, &oldTemplate.Spec)
	}
}

// PrepareForStatusUpdate restores everything except status, labels, annotations and finalizers.
// Writers that omit observedGeneration or qosClass do not clear them.
func PrepareForStatusUpdate(newPod, oldPod *corev1.Pod) {
	newPod.Spec = *oldPod.Spec.DeepCopy()
	newPod.DeletionTimestamp = nil
	newPod.OwnerReferences = oldPod.OwnerReferences
	defaulting.Set(&newPod.Status.QOSClass, oldPod.Status.QOSClass)
	defaulting.Set(&newPod.Status.ObservedGeneration, oldPod.Status.ObservedGeneration)
	for i := range newPod.Status.Conditions {
		condition := &newPod.Status.Conditions[i]
		for _, old := range oldPod.Status.Conditions {
			if old.Type == condition.Type {
				defaulting.Set(&condition.ObservedGeneration, old.ObservedGeneration)
			}
		}
	}
}

// PrepareForEphemeralContainersUpdate restores everything except the ephemeral containers.
func PrepareForEphemeralContainersUpdate(newPod, oldPod *corev1.Pod) {
	ephemeral := newPod.Spec.EphemeralContainers
	resetToOld(newPod, oldPod)
	newPod.Spec.EphemeralContainers = ephemeral
}

// PrepareForResize restores everything except pod-level resources and the resources and resize policies of
// existing regular containers and sidecars. Validation rejects reordered containers.
func PrepareForResize(newPod, oldPod *corev1.Pod) {
	requested := newPod.Spec
	resetToOld(newPod, oldPod)
	newPod.Spec.Containers = copyResources(newPod.Spec.Containers, requested.Containers, false)
	newPod.Spec.InitContainers = copyResources(newPod.Spec.InitContainers, requested.InitContainers, true)
	newPod.Spec.Resources = requested.Resources
}

// resetToOld sets newPod to a copy of oldPod that keeps the identity of the request.
func resetToOld(newPod, oldPod *corev1.Pod) {
	pod := oldPod.DeepCopy()
	pod.Name, pod.Namespace, pod.UID = newPod.Name, newPod.Namespace, newPod.UID
	pod.ResourceVersion = newPod.ResourceVersion
	pod.ManagedFields = newPod.ManagedFields
	pod.TypeMeta = newPod.TypeMeta
	*newPod = *pod
}

func copyResources(containers, requested []corev1.Container, sidecarsOnly bool) []corev1.Container {
	for i := range containers {
		if sidecarsOnly && !podfields.IsSidecar(&containers[i]) {
			continue
		}
		for _, r := range requested {
			if r.Name == containers[i].Name {
				containers[i].Resources = r.Resources
				containers[i].ResizePolicy = r.ResizePolicy
			}
		}
	}
	return containers
}

// mergeAffinityLabelKeys merges matchLabelKeys and mismatchLabelKeys into the label selectors of
// affinity terms.
func mergeAffinityLabelKeys(pod *corev1.Pod) {
	affinity := pod.Spec.Affinity
	if affinity == nil {
		return
	}
	if podAffinity := affinity.PodAffinity; podAffinity != nil {
		mergeTerms(pod.Labels, podAffinity.RequiredDuringSchedulingIgnoredDuringExecution, podAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if podAntiAffinity := affinity.PodAntiAffinity; podAntiAffinity != nil {
		mergeTerms(pod.Labels, podAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, podAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func mergeTerms(labels map[string]string, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
	merge := func(term *corev1.PodAffinityTerm) {
		mergeLabelKeys(term.LabelSelector, labels, term.MatchLabelKeys, metav1.LabelSelectorOpIn)
		mergeLabelKeys(term.LabelSelector, labels, term.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
	}
	for i := range required {
		merge(&required[i])
	}
	for i := range preferred {
		merge(&preferred[i].PodAffinityTerm)
	}
}

func mergeSpreadLabelKeys(pod *corev1.Pod) {
	for i := range pod.Spec.TopologySpreadConstraints {
		constraint := &pod.Spec.TopologySpreadConstraints[i]
		mergeLabelKeys(constraint.LabelSelector, pod.Labels, constraint.MatchLabelKeys, metav1.LabelSelectorOpIn)
	}
}

// mergeLabelKeys adds a requirement for each key that the pod has a label for.
func mergeLabelKeys(selector *metav1.LabelSelector, labels map[string]string, keys []string, operator metav1.LabelSelectorOperator) {
	if selector == nil {
		return
	}
	for _, key := range keys {
		if value, ok := labels[key]; ok {
			selector.MatchExpressions = append(selector.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
		}
	}
}

// applyAppArmorAnnotations sets unset AppArmor fields from the deprecated annotations.
func applyAppArmorAnnotations(pod *corev1.Pod) {
	if pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows {
		return
	}
	podProfile := podfields.Deref(pod.Spec.SecurityContext).AppArmorProfile
	apply := func(containers []corev1.Container) {
		for i := range containers {
			c := &containers[i]
			profile := podfields.AppArmorFromAnnotation(pod.Annotations[corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+c.Name])
			if profile == nil || podfields.Deref(c.SecurityContext).AppArmorProfile != nil {
				continue
			}
			if podProfile != nil && podProfile.Type == profile.Type && podfields.Deref(podProfile.LocalhostProfile) == podfields.Deref(profile.LocalhostProfile) {
				continue
			}
			defaulting.SetPointer(&c.SecurityContext, corev1.SecurityContext{})
			c.SecurityContext.AppArmorProfile = profile
		}
	}
	apply(pod.Spec.InitContainers)
	apply(pod.Spec.Containers)
}
