package storage

import (
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

const (
	maxCSINodeID      = 192
	maxAttachmentSize = 256 * 1024
	maxAttachText     = 1 << 20
)

// DefaultCSIDriver sets the defaults of a CSIDriver.
func DefaultCSIDriver(d *storagev1.CSIDriver) {
	checks.SetDefaultPointer(&d.Spec.AttachRequired, true)
	checks.SetDefaultPointer(&d.Spec.PodInfoOnMount, false)
	checks.SetDefaultPointer(&d.Spec.StorageCapacity, false)
	checks.SetDefaultPointer(&d.Spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	if len(d.Spec.VolumeLifecycleModes) == 0 {
		d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
	checks.SetDefaultPointer(&d.Spec.RequiresRepublish, false)
	checks.SetDefaultPointer(&d.Spec.SELinuxMount, false)
}

// ValidateCSIDriver validates a new CSIDriver.
func ValidateCSIDriver(d *storagev1.CSIDriver) field.ErrorList {
	errs := checks.ObjectMeta(&d.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, checks.CSIDriverName(d.Name, field.NewPath("name"))...)
	spec := field.NewPath("spec")
	boolean := func(set bool, name string) {
		if !set {
			errs = append(errs, field.Required(spec.Child(name), ""))
		}
	}
	boolean(d.Spec.AttachRequired != nil, "attachedRequired")
	boolean(d.Spec.PodInfoOnMount != nil, "podInfoOnMount")
	boolean(d.Spec.StorageCapacity != nil, "storageCapacity")
	if p := d.Spec.FSGroupPolicy; p != nil {
		errs = append(errs, checks.OneOf(*p, spec.Child("fsGroupPolicy"), storagev1.FileFSGroupPolicy, storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)...)
	}
	errs = append(errs, tokenRequests(d.Spec.TokenRequests, spec.Child("tokenRequests"))...)
	for _, mode := range d.Spec.VolumeLifecycleModes {
		errs = append(errs, checks.OneOf(mode, spec.Child("volumeLifecycleModes"), storagev1.VolumeLifecycleEphemeral, storagev1.VolumeLifecyclePersistent)...)
	}
	boolean(d.Spec.SELinuxMount != nil, "seLinuxMount")
	if n := d.Spec.NodeAllocatableUpdatePeriodSeconds; n != nil && *n < 10 {
		errs = append(errs, field.Invalid(spec.Child("nodeAllocatableUpdatePeriodSeconds"), *n, "must be greater than or equal to 10 seconds"))
	}
	return errs
}

func tokenRequests(list []storagev1.TokenRequest, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, r := range list {
		at := path.Index(i)
		if seen.Has(r.Audience) {
			errs = append(errs, field.Duplicate(at.Child("audience"), r.Audience))
		}
		seen.Insert(r.Audience)
		if r.ExpirationSeconds == nil {
			continue
		}
		if *r.ExpirationSeconds < 10*60 {
			errs = append(errs, field.Invalid(at.Child("expirationSeconds"), *r.ExpirationSeconds, "may not specify a duration less than 10 minutes"))
		}
		if *r.ExpirationSeconds > 1<<32 {
			errs = append(errs, field.Invalid(at.Child("expirationSeconds"), *r.ExpirationSeconds, "may not specify a duration larger than 2^32 seconds"))
		}
	}
	return errs
}

// ValidateCSIDriverUpdate rejects changes of attachRequired and volumeLifecycleModes.
func ValidateCSIDriverUpdate(d, old *storagev1.CSIDriver) field.ErrorList {
	spec := field.NewPath("spec")
	errs := checks.ObjectMetaUpdate(&d.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, ValidateCSIDriver(d)...)
	errs = append(errs, checks.Immutable(d.Spec.AttachRequired, old.Spec.AttachRequired, spec.Child("attachedRequired"))...)
	return append(errs, checks.Immutable(d.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes, spec.Child("volumeLifecycleModes"))...)
}

// ValidateCSINode validates a new CSINode.
func ValidateCSINode(n *storagev1.CSINode) field.ErrorList {
	errs := checks.ObjectMeta(&n.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	path := field.NewPath("spec", "drivers")
	seen := sets.New[string]()
	for i, d := range n.Spec.Drivers {
		at := path.Index(i)
		errs = append(errs, checks.CSIDriverName(d.Name, at.Child("name"))...)
		errs = append(errs, csiNodeID(d.NodeID, at.Child("nodeID"))...)
		if d.Allocatable != nil {
			errs = append(errs, checks.NonNegativeIfSet(d.Allocatable.Count, at.Child("allocatable", "count"))...)
		}
		if seen.Has(d.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), d.Name))
		}
		seen.Insert(d.Name)
		keys := sets.New[string]()
		for _, key := range d.TopologyKeys {
			if keys.Has(key) {
				errs = append(errs, field.Duplicate(at.Child("topologyKeys"), key))
			}
			keys.Insert(key)
			errs = append(errs, checks.QualifiedName(key, at)...)
		}
	}
	return errs
}

func csiNodeID(id string, path *field.Path) field.ErrorList {
	switch {
	case id == "":
		return field.ErrorList{field.Required(path, id)}
	case len(id) > maxCSINodeID:
		return field.ErrorList{field.Invalid(path, id, fmt.Sprintf("must be %d characters or less", maxCSINodeID))}
	}
	return nil
}

// ValidateCSINodeUpdate allows adding and removing drivers, but not changing them.
func ValidateCSINodeUpdate(n, old *storagev1.CSINode) field.ErrorList {
	errs := ValidateCSINode(n)
	for _, before := range old.Spec.Drivers {
		for i, now := range n.Spec.Drivers {
			// A driver may report its volume limit after registration.
			was := before
			was.Allocatable, now.Allocatable = nil, nil
			if now.Name == was.Name && !checks.SemanticEqual(now, was) {
				errs = append(errs, field.Invalid(field.NewPath("CSINodeDriver"), n.Spec.Drivers[i], "field is immutable"))
			}
		}
	}
	return errs
}

// ValidateCSIStorageCapacity validates a new CSIStorageCapacity.
func ValidateCSIStorageCapacity(c *storagev1.CSIStorageCapacity) field.ErrorList {
	errs := checks.ObjectMeta(&c.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, checks.LabelSelector(c.NodeTopology, false, field.NewPath("nodeTopology"))...)
	errs = append(errs, checks.InvalidEach(field.NewPath("storageClassName"), c.StorageClassName, apivalidation.NameIsDNSSubdomain(c.StorageClassName, false))...)
	if c.Capacity != nil && c.Capacity.Sign() < 0 {
		errs = append(errs, field.Invalid(field.NewPath("capacity"), c.Capacity.String(), apivalidation.IsNegativeErrorMsg))
	}
	if c.MaximumVolumeSize != nil && c.MaximumVolumeSize.Sign() < 0 {
		errs = append(errs, field.Invalid(field.NewPath("maximumVolumeSize"), c.MaximumVolumeSize.String(), apivalidation.IsNegativeErrorMsg))
	}
	return errs
}

// ValidateCSIStorageCapacityUpdate rejects changes of node topology and storage class.
func ValidateCSIStorageCapacityUpdate(c, old *storagev1.CSIStorageCapacity) field.ErrorList {
	errs := ValidateCSIStorageCapacity(c)
	errs = append(errs, checks.Immutable(c.NodeTopology, old.NodeTopology, field.NewPath("nodeTopology"))...)
	return append(errs, checks.Immutable(c.StorageClassName, old.StorageClassName, field.NewPath("storageClassName"))...)
}
