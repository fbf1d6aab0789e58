package podvalidation

import (
	"encoding/json"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// validatePodAnnotations validates the annotations with a meaning to Kubernetes.
func (c *podValidator) validatePodAnnotations(annotations map[string]string, path *field.Path) {
	if value, ok := annotations[corev1.MirrorPodAnnotationKey]; ok && c.spec.NodeName == "" {
		c.invalid(path.Key(corev1.MirrorPodAnnotationKey), value, "must set spec.nodeName if mirror pod annotation is set")
	}
	if value := annotations[corev1.TolerationsAnnotationKey]; value != "" {
		c.validateTolerationsAnnotation(value, path)
	}
	if value, ok := annotations[corev1.PodDeletionCost]; ok && !isValidDeletionCost(value) {
		c.invalid(path.Key(corev1.PodDeletionCost), value, "must be a 32bit integer")
	}
	if value, ok := annotations[corev1.SeccompPodAnnotationKey]; ok {
		c.validateSeccompAnnotation(value, path.Child(corev1.SeccompPodAnnotationKey))
	}
	for key, value := range podfields.SortedByKey(annotations) {
		if strings.HasPrefix(key, corev1.SeccompContainerAnnotationKeyPrefix) {
			c.validateSeccompAnnotation(value, path.Child(key))
		}
	}
	c.validateAppArmorAnnotations(annotations, path)
}

func (c *podValidator) validateTolerationsAnnotation(value string, path *field.Path) {
	var tolerations []corev1.Toleration
	if err := json.Unmarshal([]byte(value), &tolerations); err != nil {
		c.invalid(path, corev1.TolerationsAnnotationKey, err.Error())
		return
	}
	c.validateTolerations(tolerations, path.Child(corev1.TolerationsAnnotationKey))
}

// isValidDeletionCost reports whether value is the canonical form of a 32-bit integer, without plus
// sign or leading zeros.
func isValidDeletionCost(value string) bool {
	cost, err := strconv.ParseInt(value, 10, 32)
	return err == nil && strconv.FormatInt(cost, 10) == value
}

func (c *podValidator) validateSeccompAnnotation(value string, path *field.Path) {
	switch {
	case value == corev1.SeccompProfileRuntimeDefault, value == corev1.DeprecatedSeccompProfileDockerDefault,
		value == corev1.SeccompProfileNameUnconfined:
	case strings.HasPrefix(value, corev1.SeccompLocalhostProfileNamePrefix):
		c.requireRelativePath(strings.TrimPrefix(value, corev1.SeccompLocalhostProfileNamePrefix), path)
	default:
		c.invalid(path, value, "must be a valid seccomp profile")
	}
}

func (c *podValidator) validateAppArmorAnnotations(annotations map[string]string, path *field.Path) {
	names := podfields.NameSet{}
	podfields.EachContainer(c.spec, nil, func(container *corev1.Container, _ *field.Path) { names.Add(container.Name) })
	for key, value := range podfields.SortedByKey(annotations) {
		name, ok := strings.CutPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix)
		if !ok {
			continue
		}
		if !names[name] {
			c.invalid(path.Key(key), name, "container not found")
		}
		if podfields.AppArmorFromAnnotation(value) == nil && value != "" {
			c.invalid(path.Key(key), value, "invalid AppArmor profile name: "+strconv.Quote(value))
		}
	}
}

// seccompFromAnnotation returns the profile of an annotation, or nil if it is invalid.
func seccompFromAnnotation(value string) *corev1.SeccompProfile {
	switch value {
	case corev1.SeccompProfileRuntimeDefault, corev1.DeprecatedSeccompProfileDockerDefault:
		return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	case corev1.SeccompProfileNameUnconfined:
		return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
	}
	name, ok := strings.CutPrefix(value, corev1.SeccompLocalhostProfileNamePrefix)
	if !ok || name == "" {
		return nil
	}
	return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: &name}
}

// validateSeccompAnnotationsMatchFields rejects seccomp annotations that contradict the fields.
func (c *podValidator) validateSeccompAnnotationsMatchFields(annotations map[string]string, path *field.Path) {
	if value, ok := annotations[corev1.SeccompPodAnnotationKey]; ok {
		c.validateSeccompAnnotationMatchesField(value, podfields.Deref(c.spec.SecurityContext).SeccompProfile, path.Child("securityContext", "seccompProfile"))
	}
	podfields.EachContainer(c.spec, path, func(container *corev1.Container, containerPath *field.Path) {
		if value, ok := annotations[corev1.SeccompContainerAnnotationKeyPrefix+container.Name]; ok {
			c.validateSeccompAnnotationMatchesField(value, podfields.Deref(container.SecurityContext).SeccompProfile, containerPath.Child("securityContext", "seccompProfile"))
		}
	})
}

func (c *podValidator) validateSeccompAnnotationMatchesField(annotation string, profile *corev1.SeccompProfile, path *field.Path) {
	fromAnnotation := seccompFromAnnotation(annotation)
	if profile == nil || fromAnnotation == nil {
		return
	}
	if fromAnnotation.Type != profile.Type {
		c.forbidden(path.Child("type"), "seccomp type in annotation and field must match")
	} else if podfields.Deref(fromAnnotation.LocalhostProfile) != podfields.Deref(profile.LocalhostProfile) {
		c.forbidden(path.Child("localhostProfile"), "seccomp profile in annotation and field must match")
	}
}

// validateAppArmorAnnotationsMatchFields rejects AppArmor annotations that contradict the fields.
func (c *podValidator) validateAppArmorAnnotationsMatchFields(annotations map[string]string, path *field.Path) {
	if c.spec.OS != nil && c.spec.OS.Name == corev1.Windows {
		return
	}
	podfields.EachContainer(c.spec, path, func(container *corev1.Container, containerPath *field.Path) {
		value, ok := annotations[corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+container.Name]
		profile := podfields.Deref(container.SecurityContext).AppArmorProfile
		fromAnnotation := podfields.AppArmorFromAnnotation(value)
		if !ok || profile == nil || fromAnnotation == nil {
			return
		}
		fldPath := containerPath.Child("securityContext", "appArmorProfile")
		if fromAnnotation.Type != profile.Type {
			c.forbidden(fldPath.Child("type"), "apparmor type in annotation and field must match")
		} else if podfields.Deref(fromAnnotation.LocalhostProfile) != podfields.Deref(profile.LocalhostProfile) {
			c.forbidden(fldPath.Child("localhostProfile"), "apparmor profile in annotation and field must match")
		}
	})
}
