package storage

import (
	"context"
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/podvalidation/podwarnings"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// DefaultPersistentVolume sets the reclaim policy, volume mode, phase and defaults of volume sources, and rounds
// quantities up to a thousandth.
func DefaultPersistentVolume(pv *corev1.PersistentVolume) {
	defaulting.Set(&pv.Status.Phase, corev1.VolumePending)
	defaulting.Set(&pv.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	defaulting.SetPointer(&pv.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	poddefaults.DefaultResourceList(pv.Spec.Capacity)
	source := &pv.Spec.PersistentVolumeSource
	if s := source.HostPath; s != nil {
		defaulting.SetPointer(&s.Type, corev1.HostPathUnset)
	}
	if s := source.RBD; s != nil {
		defaulting.Set(&s.RBDPool, "rbd")
		defaulting.Set(&s.RadosUser, "admin")
		defaulting.Set(&s.Keyring, "/etc/ceph/keyring")
	}
	if s := source.ISCSI; s != nil {
		defaulting.Set(&s.ISCSIInterface, "default")
	}
	if s := source.AzureDisk; s != nil {
		defaulting.SetPointer(&s.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		defaulting.SetPointer(&s.Kind, corev1.AzureSharedBlobDisk)
		defaulting.SetPointer(&s.FSType, "ext4")
		defaulting.SetPointer(&s.ReadOnly, false)
	}
	if s := source.ScaleIO; s != nil {
		defaulting.Set(&s.StorageMode, "ThinProvisioned")
		defaulting.Set(&s.FSType, "xfs")
	}
}

// PreparePersistentVolumeForCreate resets the status to phase Pending.
func PreparePersistentVolumeForCreate(pv *corev1.PersistentVolume) {
	now := metav1.Now()
	pv.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
}

// PreparePersistentVolumeStatusUpdate sets lastPhaseTransitionTime if the phase changes and the
// writer did not set it.
func PreparePersistentVolumeStatusUpdate(pv, old *corev1.PersistentVolume) {
	if pv.Status.Phase == old.Status.Phase {
		return
	}
	if t := pv.Status.LastPhaseTransitionTime; t == nil || t.Equal(old.Status.LastPhaseTransitionTime) {
		now := metav1.Now()
		pv.Status.LastPhaseTransitionTime = &now
	}
}

// ValidatePersistentVolume validates a new volume.
func ValidatePersistentVolume(pv *corev1.PersistentVolume) field.ErrorList {
	errs := checks.ObjectMeta(&pv.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	spec, specPath := &pv.Spec, field.NewPath("spec")
	errs = append(errs, validateVolumeAccessModes(spec.AccessModes, specPath.Child("accessModes"))...)
	errs = append(errs, validateVolumeCapacity(spec.Capacity, specPath.Child("capacity"))...)
	if p := spec.PersistentVolumeReclaimPolicy; p != "" {
		errs = append(errs, checks.OneOf(p, specPath.Child("persistentVolumeReclaimPolicy"), corev1.PersistentVolumeReclaimDelete,
			corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain)...)
	}
	affinity := validateVolumeNodeAffinity(spec.NodeAffinity, specPath.Child("nodeAffinity"))
	errs = append(errs, affinity...)
	errs = append(errs, validateVolumeSource(pv, len(affinity) == 0 && spec.NodeAffinity != nil)...)
	if spec.HostPath != nil && path.Clean(spec.HostPath.Path) == "/" && spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		errs = append(errs, field.Forbidden(specPath.Child("persistentVolumeReclaimPolicy"), "may not be 'recycle' for a hostPath mount of '/'"))
	}
	if spec.StorageClassName != "" {
		errs = append(errs, checks.InvalidEach(specPath.Child("storageClassName"), spec.StorageClassName, apivalidation.NameIsDNSSubdomain(spec.StorageClassName, false))...)
	}
	if m := spec.VolumeMode; m != nil {
		errs = append(errs, checks.OneOf(*m, specPath.Child("volumeMode"), corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)...)
	}
	if c := spec.VolumeAttributesClassName; c != nil {
		switch {
		case *c == "":
			errs = append(errs, field.Required(specPath.Child("volumeAttributesClassName"), "an empty string is disallowed"))
		case spec.CSI == nil:
			errs = append(errs, field.Required(specPath.Child("csi"), "has to be specified when using volumeAttributesClassName"))
		}
		errs = append(errs, checks.InvalidEach(specPath.Child("volumeAttributesClassName"), *c, apivalidation.NameIsDNSSubdomain(*c, false))...)
	}
	return errs
}

// accessModes are the accepted access modes.
var accessModes = []corev1.PersistentVolumeAccessMode{
	corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod,
}

func validateVolumeAccessModes(modes []corev1.PersistentVolumeAccessMode, fldPath *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(modes) == 0 {
		errs = append(errs, field.Required(fldPath, ""))
	}
	hasOncePod := false
	for _, mode := range modes {
		errs = append(errs, checks.OneOf(mode, fldPath, accessModes...)...)
		hasOncePod = hasOncePod || mode == corev1.ReadWriteOncePod
	}
	if hasOncePod && len(modes) > 1 {
		errs = append(errs, field.Forbidden(fldPath, "may not use ReadWriteOncePod with other access modes"))
	}
	return errs
}

func validateVolumeCapacity(capacity corev1.ResourceList, fldPath *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(capacity) == 0 {
		errs = append(errs, field.Required(fldPath, ""))
	}
	if _, found := capacity[corev1.ResourceStorage]; !found || len(capacity) > 1 {
		errs = append(errs, field.NotSupported(fldPath, capacity, []corev1.ResourceName{corev1.ResourceStorage}))
	}
	for _, name := range checks.SortedKeys(capacity) {
		q, key := capacity[name], fldPath.Key(string(name))
		errs = append(errs, validateBasicQuantity(q, key)...)
		if q.Sign() <= 0 {
			errs = append(errs, field.Invalid(key, q.String(), "must be greater than zero"))
		}
	}
	return errs
}

func validateBasicQuantity(q resource.Quantity, fldPath *field.Path) field.ErrorList {
	if q.Value() >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(fldPath, q.Value(), "must be a valid resource quantity")}
}

func validateVolumeNodeAffinity(a *corev1.VolumeNodeAffinity, fldPath *field.Path) field.ErrorList {
	switch {
	case a == nil:
		return nil
	case a.Required == nil:
		return field.ErrorList{field.Required(fldPath.Child("required"), "must specify required node constraints")}
	}
	return podvalidation.ValidateNodeSelector(a.Required, fldPath.Child("required"))
}

// ValidatePersistentVolumeUpdate validates an update. Source and volume mode are immutable. A node
// affinity can be added. An existing one may only replace deprecated node labels.
func ValidatePersistentVolumeUpdate(pv, old *corev1.PersistentVolume) field.ErrorList {
	errs := ValidatePersistentVolume(pv)
	specPath := field.NewPath("spec")
	// controllerExpandSecretRef may be set later.
	expected := old.DeepCopy()
	if expected.Spec.CSI != nil && pv.Spec.CSI != nil && expected.Spec.CSI.ControllerExpandSecretRef == nil {
		expected.Spec.CSI.ControllerExpandSecretRef = pv.Spec.CSI.ControllerExpandSecretRef
	}
	if !checks.SemanticEqual(pv.Spec.PersistentVolumeSource, expected.Spec.PersistentVolumeSource) {
		errs = append(errs, field.Forbidden(specPath.Child("persistentvolumesource"), fmt.Sprintf("spec.persistentvolumesource is immutable after creation\n%s",
			checks.JSONDiff(expected.Spec.PersistentVolumeSource, pv.Spec.PersistentVolumeSource))))
	}
	errs = append(errs, checks.Immutable(pv.Spec.VolumeMode, old.Spec.VolumeMode, specPath.Child("volumeMode"))...)
	if old.Spec.NodeAffinity != nil {
		errs = append(errs, validateNodeAffinityChange(pv.Spec.NodeAffinity, old.Spec.NodeAffinity, specPath.Child("nodeAffinity"))...)
	}
	return errs
}

// validateNodeAffinityChange allows only changes from deprecated node labels to their replacements.
func validateNodeAffinityChange(affinity, old *corev1.VolumeNodeAffinity, fldPath *field.Path) field.ErrorList {
	renamed := old.DeepCopy()
	if affinity != nil && affinity.Required != nil && renamed.Required != nil && len(affinity.Required.NodeSelectorTerms) == len(renamed.Required.NodeSelectorTerms) {
		for i := range renamed.Required.NodeSelectorTerms {
			renamedTerms, newTerms := renamed.Required.NodeSelectorTerms[i].MatchExpressions, affinity.Required.NodeSelectorTerms[i].MatchExpressions
			for j := range min(len(renamedTerms), len(newTerms)) {
				if stableNodeLabels[renamedTerms[j].Key] == newTerms[j].Key {
					renamedTerms[j].Key = newTerms[j].Key
				}
			}
		}
	}
	return checks.Immutable(affinity, renamed, fldPath)
}

// stableNodeLabels maps deprecated node labels to their replacements.
var stableNodeLabels = map[string]string{
	"beta.kubernetes.io/arch":                  corev1.LabelArchStable,
	"beta.kubernetes.io/os":                    corev1.LabelOSStable,
	"failure-domain.beta.kubernetes.io/region": corev1.LabelTopologyRegion,
	"failure-domain.beta.kubernetes.io/zone":   corev1.LabelTopologyZone,
	"beta.kubernetes.io/instance-type":         corev1.LabelInstanceTypeStable,
}

// ValidatePersistentVolumeStatusUpdate validates the metadata.
func ValidatePersistentVolumeStatusUpdate(pv, old *corev1.PersistentVolume) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&pv.ObjectMeta, &old.ObjectMeta)
	if len(pv.ResourceVersion) == 0 {
		errs = append(errs, field.Required(checks.MetadataPath.Child("resourceVersion"), ""))
	}
	return errs
}

// PersistentVolumeWarnings warns of deprecated and unsupported annotations, fields and node labels.
func PersistentVolumeWarnings(_ context.Context, pv, _ *corev1.PersistentVolume) []string {
	var warnings []string
	warn := func(condition bool, format string, args ...any) {
		if condition {
			warnings = append(warnings, fmt.Sprintf(format, args...))
		}
	}
	specPath := field.NewPath("spec")
	_, hasClass := pv.Annotations[betaStorageClass]
	warn(hasClass, `%s: deprecated since v1.8; use "storageClassName" attribute instead`, checks.MetadataPath.Child("annotations").Key(betaStorageClass))
	_, hasMountOptions := pv.Annotations[corev1.MountOptionAnnotation]
	warn(hasMountOptions, `%s: deprecated since v1.31; use "mountOptions" attribute instead`, checks.MetadataPath.Child("annotations").Key(corev1.MountOptionAnnotation))
	warn(pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle,
		"%s: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.", specPath.Child("persistentVolumeReclaimPolicy"))
	if pv.Spec.NodeAffinity != nil && pv.Spec.NodeAffinity.Required != nil {
		for i, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
			for j, e := range term.MatchExpressions {
				reason, ok := podwarnings.DeprecatedNodeLabels[e.Key]
				warn(ok, "%s: %s is %s",
					specPath.Child("nodeAffinity", "required", "nodeSelectorTerms").Index(i).Child("matchExpressions").Index(j).Child("key"), e.Key, reason)
			}
		}
	}
	s := pv.Spec.PersistentVolumeSource
	warn(s.PhotonPersistentDisk != nil, "%s: deprecated in v1.11, non-functional in v1.16+", specPath.Child("photonPersistentDisk"))
	warn(s.ScaleIO != nil, "%s: deprecated in v1.16, non-functional in v1.22+", specPath.Child("scaleIO"))
	warn(s.StorageOS != nil, "%s: deprecated in v1.22, non-functional in v1.25+", specPath.Child("storageOS"))
	warn(s.Glusterfs != nil, "%s: deprecated in v1.25, non-functional in v1.26+", specPath.Child("glusterfs"))
	warn(s.CephFS != nil, "%s: deprecated in v1.28, non-functional in v1.31+", specPath.Child("cephfs"))
	warn(s.RBD != nil, "%s: deprecated in v1.28, non-functional in v1.31+", specPath.Child("rbd"))
	return warnings
}
