package storage

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// Maximum sizes in bytes of the metadata of an attachment and of an error message.
const (
	maxAttachmentMetadata = 256 * 1024
	maxAttachErrorMessage = 1 << 20
)

// ValidateVolumeAttachment validates a new VolumeAttachment.
func ValidateVolumeAttachment(a *storagev1.VolumeAttachment) field.ErrorList {
	errs := checks.ObjectMeta(&a.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	specPath := field.NewPath("spec")
	errs = append(errs, podvalidation.ValidateCSIDriverName(a.Spec.Attacher, specPath.Child("attacher"))...)
	errs = append(errs, validateAttachmentSource(&a.Spec.Source, specPath.Child("source"))...)
	errs = append(errs, checks.InvalidEach(specPath.Child("nodeName"), a.Spec.NodeName, apivalidation.NameIsDNSSubdomain(a.Spec.NodeName, false))...)
	return append(errs, validateAttachmentStatus(a)...)
}

func validateAttachmentSource(s *storagev1.VolumeAttachmentSource, path *field.Path) field.ErrorList {
	namePath := path.Child("persistentVolumeName")
	switch {
	case s.InlineVolumeSpec == nil && s.PersistentVolumeName == nil:
		return field.ErrorList{field.Required(path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName")}
	case s.InlineVolumeSpec != nil && s.PersistentVolumeName != nil:
		return field.ErrorList{field.Forbidden(path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName")}
	case s.PersistentVolumeName == nil:
		inline := &corev1.PersistentVolume{Spec: *s.InlineVolumeSpec}
		if inline.Spec.CSI == nil {
			return field.ErrorList{field.Required(path.Child("inlineVolumeSpec", "csi"), "")}
		}
		return validateCSIVolume(inline.Spec.CSI, path.Child("inlineVolumeSpec", "csi"))
	case *s.PersistentVolumeName == "":
		return field.ErrorList{field.Required(namePath, "must specify non empty persistentVolumeName")}
	}
	return checks.InvalidEach(namePath, *s.PersistentVolumeName, apivalidation.NameIsDNSSubdomain(*s.PersistentVolumeName, false))
}

func validateAttachmentStatus(a *storagev1.VolumeAttachment) field.ErrorList {
	statusPath := field.NewPath("status")
	size := 0
	for key, value := range a.Status.AttachmentMetadata {
		size += len(key) + len(value)
	}
	var errs field.ErrorList
	if size > maxAttachmentMetadata {
		errs = append(errs, field.TooLong(statusPath.Child("attachmentMetadata"), "", maxAttachmentMetadata))
	}
	validateLength := func(e *storagev1.VolumeError, path *field.Path) {
		if e != nil && len(e.Message) > maxAttachErrorMessage {
			errs = append(errs, field.TooLong(path.Child("message"), "", maxAttachErrorMessage))
		}
	}
	validateLength(a.Status.AttachError, statusPath.Child("attachError"))
	validateLength(a.Status.DetachError, statusPath.Child("detachError"))
	return errs
}

// ValidateVolumeAttachmentUpdate validates an update. The spec is immutable.
func ValidateVolumeAttachmentUpdate(a, old *storagev1.VolumeAttachment) field.ErrorList {
	errs := ValidateVolumeAttachment(a)
	return append(errs, checks.Immutable(a.Spec, old.Spec, field.NewPath("spec"))...)
}

// ValidateVolumeAttachmentStatusUpdate validates the status.
func ValidateVolumeAttachmentStatusUpdate(a, _ *storagev1.VolumeAttachment) field.ErrorList {
	return validateAttachmentStatus(a)
}
