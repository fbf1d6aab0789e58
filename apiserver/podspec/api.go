package podspec

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func DefaultPod(pod *corev1.Pod)                                                      {}
func DefaultPodSpec(spec *corev1.PodSpec)                                             {}
func DefaultPodTemplate(template *corev1.PodTemplateSpec)                             {}
func DefaultResourceList(list corev1.ResourceList)                                    {}
func DefaultPersistentVolumeClaimSpec(spec *corev1.PersistentVolumeClaimSpec)         {}
func PrepareForCreate(pod *corev1.Pod)                                                {}
func PrepareForUpdate(newPod, oldPod *corev1.Pod)                                     {}
func PrepareForStatusUpdate(newPod, oldPod *corev1.Pod)                               {}
func PrepareForEphemeralContainersUpdate(newPod, oldPod *corev1.Pod)                  {}
func PrepareForResize(newPod, oldPod *corev1.Pod)                                     {}
func PrepareTemplate(newTemplate, oldTemplate *corev1.PodTemplateSpec)                {}
func ValidatePod(pod *corev1.Pod) field.ErrorList                                     { return nil }
func ValidatePodUpdate(newPod, oldPod *corev1.Pod) field.ErrorList                    { return nil }
func ValidatePodStatusUpdate(newPod, oldPod *corev1.Pod) field.ErrorList              { return nil }
func ValidatePodEphemeralContainersUpdate(newPod, oldPod *corev1.Pod) field.ErrorList { return nil }
func ValidatePodResize(newPod, oldPod *corev1.Pod) field.ErrorList                    { return nil }
func ValidatePodTemplateSpec(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	return nil
}
func ValidateNodeSelector(selector *corev1.NodeSelector, path *field.Path) field.ErrorList {
	return nil
}
func ValidateTolerations(tolerations []corev1.Toleration, path *field.Path) field.ErrorList {
	return nil
}
func ValidateTaints(taints []corev1.Taint, path *field.Path) field.ErrorList { return nil }
func ValidateResourceRequirements(requirements *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	return nil
}
func ValidateResourceQuantityValue(name corev1.ResourceName, value resource.Quantity, path *field.Path) field.ErrorList {
	return nil
}
func ValidatePersistentVolumeClaimSpec(spec *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	return nil
}
func PodWarnings(ctx context.Context, newPod, oldPod *corev1.Pod) []string { return nil }
func PodTemplateWarnings(ctx context.Context, path *field.Path, newTemplate, oldTemplate *corev1.PodTemplateSpec) []string {
	return nil
}
func QOSClass(pod *corev1.Pod) corev1.PodQOSClass { return corev1.PodQOSBestEffort }
