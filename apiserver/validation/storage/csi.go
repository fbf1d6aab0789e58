package storage

import (
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// maxCSINodeID is the maximum length in bytes of the ID that a driver gives a node.
const maxCSINodeID = 192

// DefaultCSIDriver sets the defaults of a CSIDriver.
func DefaultCSIDriver(d *storagev1.CSIDriver) {
	defaulting.SetPointer(&d.Spec.AttachRequired, true)
	defaulting.SetPointer(&d.Spec.PodInfoOnMount, false)
	defaulting.SetPointer(&d.Spec.StorageCapacity, false)
	defaulting.SetPointer(&d.Spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	if len(d.Spec.VolumeLifecycleModes) == 0 {
		d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
	defaulting.SetPointer(&d.Spec.RequiresRepublish, false)
	defaulting.SetPointer(&d.Spec.SELinuxMount, false)
}

// ValidateCSIDriver validates a new CSIDriver.
func ValidateCSIDriver(d *storagev1.CSIDriver) field.ErrorList {
	errs := checks.ObjectMeta(&d.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, podvalidation.ValidateCSIDriverName(d.Name, field.NewPath("name"))...)
	specPath := field.NewPath("spec")
	requireSet := func(isSet bool, name string) {
		if !isSet {
			errs = append(errs, field.Required(specPath.Child(name), ""))
		}
	}
	requireSet(d.Spec.AttachRequired != nil, "attachedRequired")
	requireSet(d.Spec.PodInfoOnMount != nil, "podInfoOnMount")
	requireSet(d.Spec.StorageCapacity != nil, "storageCapacity")
	if p := d.Spec.FSGroupPolicy; p != nil {
		errs = append(errs, checks.OneOf(*p, specPath.Child("fsGroupPolicy"), storagev1.FileFSGroupPolicy, storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)...)
	}
	errs = append(errs, validateTokenRequests(d.Spec.TokenRequests, specPath.Child("tokenRequests"))...)
	for _, mode := range d.Spec.VolumeLifecycleModes {
		errs = append(errs, checks.OneOf(mode, specPath.Child("volumeLifecycleModes"), storagev1.VolumeLifecycleEphemeral, storagev1.VolumeLifecyclePersistent)...)
	}
	requireSet(d.Spec.SELinuxMount != nil, "seLinuxMount")
	if n := d.Spec.NodeAllocatableUpdatePeriodSeconds; n != nil && *n < 10 {
		errs = append(errs, field.Invalid(specPath.Child("nodeAllocatableUpdatePeriodSeconds"), *n, "must be greater than or equal to 10 seconds"))
	}
	return errs
}

func validateTokenRequests(requests []storagev1.TokenRequest, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, r := range requests {
		itemPath := path.Index(i)
		if seen.Has(r.Audience) {
			errs = append(errs, field.Duplicate(itemPath.Child("audience"), r.Audience))
		}
		seen.Insert(r.Audience)
		if r.ExpirationSeconds == nil {
			continue
		}
		if *r.ExpirationSeconds < 10*60 {
			errs = append(errs, field.Invalid(itemPath.Child("expirationSeconds"), *r.ExpirationSeconds, "may not specify a duration less than 10 minutes"))
		}
		if *r.ExpirationSeconds > 1<<32 {
			errs = append(errs, field.Invalid(itemPath.Child("expirationSeconds"), *r.ExpirationSeconds, "may not specify a duration larger than 2^32 seconds"))
		}
	}
	return errs
}

// ValidateCSIDriverUpdate rejects changes of attachRequired and volumeLifecycleModes.
func ValidateCSIDriverUpdate(d, old *storagev1.CSIDriver) field.ErrorList {
	specPath := field.NewPath("spec")
	errs := checks.ObjectMetaUpdate(&d.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, ValidateCSIDriver(d)...)
	errs = append(errs, checks.Immutable(d.Spec.AttachRequired, old.Spec.AttachRequired, specPath.Child("attachedRequired"))...)
	return append(errs, checks.Immutable(d.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes, specPath.Child("volumeLifecycleModes"))...)
}

// ValidateCSINode validates a new CSINode.
func ValidateCSINode(n *storagev1.CSINode) field.ErrorList {
	errs := checks.ObjectMeta(&n.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	path := field.NewPath("spec", "drivers")
	seen := sets.New[string]()
	for i, d := range n.Spec.Drivers {
		itemPath := path.Index(i)
		errs = append(errs, podvalidation.ValidateCSIDriverName(d.Name, itemPath.Child("name"))...)
		errs = append(errs, validateCSINodeID(d.NodeID, itemPath.Child("nodeID"))...)
		if d.Allocatable != nil {
			errs = append(errs, checks.NonNegativeIfSet(d.Allocatable.Count, itemPath.Child("allocatable", "count"))...)
		}
		if seen.Has(d.Name) {
			errs = append(errs, field.Duplicate(itemPath.Child("name"), d.Name))
		}
		seen.Insert(d.Name)
		keys := sets.New[string]()
		for _, key := range d.TopologyKeys {
			if keys.Has(key) {
				errs = append(errs, field.Duplicate(itemPath.Child("topologyKeys"), key))
			}
			keys.Insert(key)
			errs = append(errs, checks.QualifiedName(key, itemPath)...)
		}
	}
	return errs
}

func validateCSINodeID(id string, path *field.Path) field.ErrorList {
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
	for _, oldDriver := range old.Spec.Drivers {
		// A driver may report its volume limit after registration.
		oldDriver.Allocatable = nil
		for i, driver := range n.Spec.Drivers {
			driver.Allocatable = nil
			if driver.Name == oldDriver.Name && !checks.SemanticEqual(driver, oldDriver) {
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
