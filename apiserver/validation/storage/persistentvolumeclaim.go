package storage

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// betaStorageClass is the annotation that preceded the field storageClassName.
const betaStorageClass = corev1.BetaStorageClassAnnotation

// DefaultPersistentVolumeClaim sets phase and volume mode, and rounds quantities up to a thousandth.
func DefaultPersistentVolumeClaim(c *corev1.PersistentVolumeClaim) {
	defaulting.Set(&c.Status.Phase, corev1.ClaimPending)
	poddefaults.DefaultPersistentVolumeClaimSpec(&c.Spec)
	poddefaults.DefaultResourceList(c.Status.Capacity)
	poddefaults.DefaultResourceList(c.Status.AllocatedResources)
}

// PreparePersistentVolumeClaimForCreate sets the phase to Pending, clears fields of disabled feature gates
// and copies between dataSource and dataSourceRef.
func PreparePersistentVolumeClaimForCreate(c *corev1.PersistentVolumeClaim) {
	c.Status.Phase = corev1.ClaimPending
	spec := &c.Spec
	dropCrossNamespaceSource(spec, nil)
	switch source, ref := spec.DataSource, spec.DataSourceRef; {
	case source != nil && ref == nil:
		spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name}
	case source == nil && ref != nil && (ref.Namespace == nil || *ref.Namespace == ""):
		spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}
	}
}

// PreparePersistentVolumeClaimForUpdate clears fields of disabled feature gates. It restores a dataSourceRef that a
// client omits because it does not know the field.
func PreparePersistentVolumeClaimForUpdate(c, old *corev1.PersistentVolumeClaim) {
	dropCrossNamespaceSource(&c.Spec, &old.Spec)
	if c.Spec.DataSource != nil && c.Spec.DataSourceRef == nil && old.Spec.DataSourceRef != nil && checks.SemanticEqual(c.Spec.DataSource, old.Spec.DataSource) {
		c.Spec.DataSourceRef = old.Spec.DataSourceRef
	}
}

// dropCrossNamespaceSource clears a data source of another namespace, because its feature gate is disabled, unless old
// has one.
func dropCrossNamespaceSource(spec, old *corev1.PersistentVolumeClaimSpec) {
	inUse := old != nil && old.DataSourceRef != nil && old.DataSourceRef.Namespace != nil && *old.DataSourceRef.Namespace != ""
	if !inUse && spec.DataSourceRef != nil && spec.DataSourceRef.Namespace != nil && *spec.DataSourceRef.Namespace != "" {
		spec.DataSourceRef = nil
	}
}

// ValidatePersistentVolumeClaim validates a new claim.
func ValidatePersistentVolumeClaim(c *corev1.PersistentVolumeClaim) field.ErrorList {
	errs := checks.ObjectMeta(&c.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, podvalidation.ValidatePersistentVolumeClaimSpec(&c.Spec, field.NewPath("spec"))...)
}

const immutableClaimMsg = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"

// ValidatePersistentVolumeClaimUpdate validates an update. It may set the volume name and the storage class
// and, for bound claims, change the size and the attributes class.
func ValidatePersistentVolumeClaimUpdate(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	specPath := field.NewPath("spec")
	errs := ValidatePersistentVolumeClaim(c)
	errs = append(errs, checks.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)...)
	claim, expected := c.DeepCopy(), old.DeepCopy()
	// The volume name can be set once.
	if expected.Spec.VolumeName == "" && claim.Spec.VolumeName != "" {
		expected.Spec.VolumeName = claim.Spec.VolumeName
	}
	if isClassUpgrade(old, c) {
		claim.Spec.StorageClassName = expected.Spec.StorageClassName
	}
	isBound := claim.Status.Phase == corev1.ClaimBound
	if isBound && old.Spec.Resources.Requests != nil && claim.Spec.Resources.Requests != nil {
		claim.Spec.Resources.Requests[corev1.ResourceStorage] = old.Spec.Resources.Requests[corev1.ResourceStorage]
	}
	if isBound {
		claim.Spec.VolumeAttributesClassName = expected.Spec.VolumeAttributesClassName
	}
	if !checks.SemanticEqual(claim.Spec, expected.Spec) {
		errs = append(errs, field.Forbidden(specPath, fmt.Sprintf("%s\n%s", immutableClaimMsg, checks.JSONDiff(expected.Spec, claim.Spec))))
	}
	errs = append(errs, validateClaimSize(c, old, specPath)...)
	errs = append(errs, checks.Immutable(c.Spec.VolumeMode, old.Spec.VolumeMode, specPath.Child("volumeMode"))...)
	return append(errs, validateAttributesClass(c, old, specPath.Child("volumeAttributesClassName"))...)
}

// isClassUpgrade reports whether an update moves the class from the beta annotation to the field, or
// sets the class of a claim without one.
func isClassUpgrade(old, c *corev1.PersistentVolumeClaim) bool {
	annotated, found := old.Annotations[betaStorageClass]
	class := c.Spec.StorageClassName
	switch {
	case class == nil || old.Spec.StorageClassName != nil:
		return false
	case found:
		return *class == annotated && c.Annotations[betaStorageClass] == annotated
	}
	return c.Annotations[betaStorageClass] == ""
}

// validateClaimSize allows a smaller request, to recover from a failed expansion. The request must remain greater than
// the capacity in the status.
func validateClaimSize(c, old *corev1.PersistentVolumeClaim, specPath *field.Path) field.ErrorList {
	size, oldSize := c.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
	capacity := old.Status.Capacity[corev1.ResourceStorage]
	if size.Cmp(oldSize) >= 0 || size.Cmp(capacity) > 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(specPath.Child("resources", "requests", "storage"),
		"field can not be less than status.capacity")}
}

func validateAttributesClass(c, old *corev1.PersistentVolumeClaim, path *field.Path) field.ErrorList {
	oldClass, class := old.Spec.VolumeAttributesClassName, c.Spec.VolumeAttributesClassName
	if oldClass == nil || *oldClass == "" {
		return nil
	}
	switch {
	case class == nil:
		return field.ErrorList{field.Forbidden(path, "update from non-nil value to nil is forbidden")}
	case *class == "":
		return field.ErrorList{field.Forbidden(path, "update from non-nil value to an empty string is forbidden")}
	}
	return nil
}

// ValidatePersistentVolumeClaimStatusUpdate validates quantities and resize statuses.
func ValidatePersistentVolumeClaimStatusUpdate(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	statusPath := field.NewPath("status")
	if len(c.ResourceVersion) == 0 {
		errs = append(errs, field.Required(checks.MetadataPath.Child("resourceVersion"), ""))
	}
	if len(c.Spec.AccessModes) == 0 {
		errs = append(errs, field.Required(field.NewPath("Spec", "accessModes"), ""))
	}
	for _, name := range checks.SortedKeys(c.Status.Capacity) {
		errs = append(errs, validateBasicQuantity(c.Status.Capacity[name], statusPath.Child("capacity").Key(string(name)))...)
	}
	resizes := []corev1.ClaimResourceStatus{corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
		corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress, corev1.PersistentVolumeClaimNodeResizeInfeasible}
	for _, name := range checks.SortedKeys(c.Status.AllocatedResourceStatuses) {
		path := statusPath.Child("allocatedResourceStatus").Key(string(name))
		errs = append(errs, validateStorageResourceName(name, path)...)
		errs = append(errs, checks.OneOf(c.Status.AllocatedResourceStatuses[name], path, resizes...)...)
	}
	for _, name := range checks.SortedKeys(c.Status.AllocatedResources) {
		path := statusPath.Child("allocatedResources").Key(string(name))
		errs = append(errs, validateStorageResourceName(name, path)...)
		errs = append(errs, podvalidation.ValidateResourceQuantityValue(name, c.Status.AllocatedResources[name], path)...)
	}
	return errs
}

// validateStorageResourceName requires "storage" or a qualified name.
func validateStorageResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	errs := checks.QualifiedName(string(name), path)
	if name == corev1.ResourceStorage || strings.Contains(string(name), "/") || len(errs) > 0 {
		return errs
	}
	return field.ErrorList{field.NotSupported(path, name, []corev1.ResourceName{corev1.ResourceStorage})}
}

// PersistentVolumeClaimWarnings warns about the beta annotation and fractional bytes.
func PersistentVolumeClaimWarnings(_ context.Context, c, _ *corev1.PersistentVolumeClaim) []string {
	var warnings []string
	if _, found := c.Annotations[betaStorageClass]; found {
		warnings = append(warnings, fmt.Sprintf("metadata.annotations[%s]: deprecated since v1.8; use \"storageClassName\" attribute instead", betaStorageClass))
	}
	return append(warnings, ClaimSpecWarnings(&c.Spec, field.NewPath("spec"))...)
}

// ClaimSpecWarnings warns about fractional bytes in storage requests and limits.
func ClaimSpecWarnings(spec *corev1.PersistentVolumeClaimSpec, path *field.Path) []string {
	var warnings []string
	warnIfFractional := func(list corev1.ResourceList, name string) {
		q, found := list[corev1.ResourceStorage]
		if found && q.MilliValue()%1000 != 0 {
			warnings = append(warnings, fmt.Sprintf("%s: fractional byte value %q is invalid, must be an integer",
				path.Child("resources", name).Key(string(corev1.ResourceStorage)), q.String()))
		}
	}
	warnIfFractional(spec.Resources.Requests, "requests")
	warnIfFractional(spec.Resources.Limits, "limits")
	return warnings
}
