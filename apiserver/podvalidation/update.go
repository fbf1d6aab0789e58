package podvalidation

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// updatablePodFields are the mutable fields, as the error for other changes lists them.
var updatablePodFields = []string{
	"`spec.containers[*].image`",
	"`spec.initContainers[*].image`",
	"`spec.activeDeadlineSeconds`",
	"`spec.tolerations` (only additions to existing tolerations)",
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
}

// updateValidator validates an update of a pod.
type updateValidator struct {
	*podValidator
	new, old *corev1.Pod
}

// validateUpdate applies the rules common to all updates: metadata and the new state of the pod.
func validateUpdate(newPod, oldPod *corev1.Pod) *updateValidator {
	meta := apivalidation.ValidateObjectMetaUpdate(&newPod.ObjectMeta, &oldPod.ObjectMeta, field.NewPath("metadata"))
	u := &updateValidator{podValidator: validatePod(newPod), new: newPod, old: oldPod}
	u.errs = append(meta, u.errs...)
	return u
}

// ValidatePodUpdate validates an update of the main resource.
func ValidatePodUpdate(newPod, oldPod *corev1.Pod) field.ErrorList {
	u := validateUpdate(newPod, oldPod)
	u.validateAnnotationChanges()
	path := field.NewPath("spec")
	// Further rules compare containers pairwise, so stop if their number changed. An invalid
	// deadline also stops, as in Kubernetes.
	if !u.validateImages(newPod.Spec.Containers, oldPod.Spec.Containers, path.Child("containers")) ||
		!u.validateImages(newPod.Spec.InitContainers, oldPod.Spec.InitContainers, path.Child("initContainers")) ||
		!u.validateActiveDeadline(path.Child("activeDeadlineSeconds")) {
		return u.errs
	}
	u.validateTermLimits(&newPod.Spec, &oldPod.Spec, path)
	u.validateTolerationChanges(path.Child("tolerations"))
	u.validateSchedulingGateChanges(path.Child("schedulingGates"))
	if equality.Semantic.DeepEqual(newPod.Spec, oldPod.Spec) {
		return u.errs
	}
	remaining := u.withoutMutableChanges()
	if len(oldPod.Spec.SchedulingGates) > 0 {
		u.allowGatedUpdates(remaining, path)
	}
	if !equality.Semantic.DeepEqual(*remaining, oldPod.Spec) {
		u.forbidden(path, fmt.Sprintf("pod updates may not change fields other than %s\n%v",
			strings.Join(updatablePodFields, ","), diff.Diff(*remaining, oldPod.Spec)))
	}
	return u.errs
}

// validateAnnotationChanges rejects changes of AppArmor and mirror pod annotations.
func (u *updateValidator) validateAnnotationChanges() {
	path := field.NewPath("metadata", "annotations")
	const prefix = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix
	for key, value := range podfields.SortedByKey(u.new.Annotations) {
		if old, ok := u.old.Annotations[key]; strings.HasPrefix(key, prefix) && (!ok || old != value) {
			u.forbidden(path.Key(key), "may not remove or update AppArmor annotations")
		}
	}
	for key := range podfields.SortedByKey(u.old.Annotations) {
		if _, ok := u.new.Annotations[key]; strings.HasPrefix(key, prefix) && !ok {
			u.forbidden(path.Key(key), "may not remove or update AppArmor annotations")
		}
	}
	if value, isMirror := u.new.Annotations[corev1.MirrorPodAnnotationKey]; isMirror || podfields.HasKey(u.old.Annotations, corev1.MirrorPodAnnotationKey) {
		if old, wasMirror := u.old.Annotations[corev1.MirrorPodAnnotationKey]; isMirror != wasMirror || value != old {
			u.forbidden(path.Key(corev1.MirrorPodAnnotationKey), "may not remove or update mirror pod annotation")
		}
	}
}

// validateImages validates the images and reports whether the number of containers is unchanged.
func (u *updateValidator) validateImages(containers, old []corev1.Container, path *field.Path) bool {
	if len(containers) != len(old) {
		u.forbidden(path, "pod updates may not add or remove containers")
		return false
	}
	for i, container := range containers {
		u.requireNonEmpty(container.Image, path.Index(i).Child("image"))
		if container.Image != "" && strings.TrimSpace(container.Image) != container.Image {
			u.invalid(path.Index(i).Child("image"), container.Image, "must not have leading or trailing whitespace")
		}
	}
	return true
}

// validateActiveDeadline allows setting and decreasing activeDeadlineSeconds. It reports whether validation
// continues.
func (u *updateValidator) validateActiveDeadline(path *field.Path) bool {
	seconds, oldSeconds := u.new.Spec.ActiveDeadlineSeconds, u.old.Spec.ActiveDeadlineSeconds
	switch {
	case seconds == nil && oldSeconds != nil:
		u.invalid(path, seconds, "must not update from a positive integer to nil value")
	case seconds == nil:
	case *seconds < 0 || *seconds > math.MaxInt32:
		u.invalid(path, *seconds, validation.InclusiveRangeError(0, math.MaxInt32))
		return false
	case oldSeconds != nil && *oldSeconds < *seconds:
		u.invalid(path, *seconds, "must be less than or equal to previous value")
		return false
	}
	return true
}

// validateTolerationChanges allows only additions and changes of tolerationSeconds.
func (u *updateValidator) validateTolerationChanges(path *field.Path) {
	for _, old := range u.old.Spec.Tolerations {
		exists := false
		old.TolerationSeconds = nil
		for _, toleration := range u.new.Spec.Tolerations {
			toleration.TolerationSeconds = nil
			exists = exists || toleration == old
		}
		if !exists {
			u.forbidden(path, "existing toleration can not be modified except its tolerationSeconds")
			return
		}
	}
	u.validateTolerations(u.new.Spec.Tolerations, path)
}

func (u *updateValidator) validateSchedulingGateChanges(path *field.Path) {
	oldGates := map[string]bool{}
	for _, gate := range u.old.Spec.SchedulingGates {
		oldGates[gate.Name] = true
	}
	for i, gate := range u.new.Spec.SchedulingGates {
		if !oldGates[gate.Name] {
			u.forbidden(path.Index(i).Child("name"), fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name))
		}
	}
}

// withoutMutableChanges returns the new spec with the old values of all mutable fields. Any remaining
// difference is a forbidden change.
func (u *updateValidator) withoutMutableChanges() *corev1.PodSpec {
	remaining, old := u.new.Spec.DeepCopy(), &u.old.Spec
	for i := range remaining.Containers {
		remaining.Containers[i].Image = old.Containers[i].Image
	}
	for i := range remaining.InitContainers {
		remaining.InitContainers[i].Image = old.InitContainers[i].Image
	}
	remaining.ActiveDeadlineSeconds = old.ActiveDeadlineSeconds
	remaining.SchedulingGates = old.SchedulingGates
	remaining.Tolerations = old.Tolerations
	grace, oldGrace := remaining.TerminationGracePeriodSeconds, old.TerminationGracePeriodSeconds
	if oldGrace != nil && *oldGrace < 0 && grace != nil && *grace == 1 {
		remaining.TerminationGracePeriodSeconds = oldGrace
	}
	return remaining
}
