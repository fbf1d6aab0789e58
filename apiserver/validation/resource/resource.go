package resource

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// Limits of the requests of a claim and of the devices of a slice.
const (
	maxDeviceRequests = 32
	maxSliceDevices   = 128
)

// DefaultResourceClaim sets the allocation mode ExactCount and the count 1.
func DefaultResourceClaim(c *resourcev1.ResourceClaim) { defaultRequests(c.Spec.Devices.Requests) }

// DefaultResourceClaimTemplate sets the defaults of a claim in a template.
func DefaultResourceClaimTemplate(t *resourcev1.ResourceClaimTemplate) {
	defaultRequests(t.Spec.Spec.Devices.Requests)
}

func defaultRequests(requests []resourcev1.DeviceRequest) {
	setDefaults := func(mode *resourcev1.DeviceAllocationMode, n *int64) {
		defaulting.Set(mode, resourcev1.DeviceAllocationModeExactCount)
		if *mode == resourcev1.DeviceAllocationModeExactCount {
			defaulting.Set(n, 1)
		}
	}
	for i := range requests {
		if exact := requests[i].Exactly; exact != nil {
			setDefaults(&exact.AllocationMode, &exact.Count)
		}
		for j := range requests[i].FirstAvailable {
			setDefaults(&requests[i].FirstAvailable[j].AllocationMode, &requests[i].FirstAvailable[j].Count)
		}
	}
}

// ValidateResourceClaim validates a new claim.
func ValidateResourceClaim(c *resourcev1.ResourceClaim) field.ErrorList {
	errs := checks.ObjectMeta(&c.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateDeviceRequests(c.Spec.Devices.Requests, field.NewPath("spec", "devices", "requests"))...)
}

// ValidateResourceClaimUpdate rejects changes of the spec.
func ValidateResourceClaimUpdate(c, old *resourcev1.ResourceClaim) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checks.Immutable(c.Spec, old.Spec, field.NewPath("spec"))...)
	return append(errs, ValidateResourceClaim(c)...)
}

// ValidateResourceClaimStatusUpdate rejects changes of an existing allocation, reservations without
// an allocation, and duplicate reservations. An allocation without reservations may be removed.
func ValidateResourceClaimStatusUpdate(c, old *resourcev1.ResourceClaim) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status")
	if len(c.Status.ReservedFor) > 0 && c.Status.Allocation == nil {
		errs = append(errs, field.Forbidden(path.Child("reservedFor"), "may not be specified when `allocated` is not set"))
	}
	uids := sets.New[string]()
	for i, user := range c.Status.ReservedFor {
		if uids.Has(string(user.UID)) {
			errs = append(errs, field.Duplicate(path.Child("reservedFor").Index(i).Child("uid"), user.UID))
		}
		uids.Insert(string(user.UID))
	}
	if old.Status.Allocation != nil && c.Status.Allocation != nil {
		errs = append(errs, checks.Immutable(c.Status.Allocation, old.Status.Allocation, path.Child("allocation"))...)
	}
	return errs
}

// ValidateResourceClaimTemplate validates a new template.
func ValidateResourceClaimTemplate(t *resourcev1.ResourceClaimTemplate) field.ErrorList {
	errs := checks.ObjectMeta(&t.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateDeviceRequests(t.Spec.Spec.Devices.Requests, field.NewPath("spec", "spec", "devices", "requests"))...)
}

// ValidateResourceClaimTemplateUpdate rejects changes of the spec.
func ValidateResourceClaimTemplateUpdate(t, old *resourcev1.ResourceClaimTemplate) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&t.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checks.Immutable(t.Spec, old.Spec, field.NewPath("spec"))...)
	return append(errs, ValidateResourceClaimTemplate(t)...)
}

func validateDeviceRequests(requests []resourcev1.DeviceRequest, path *field.Path) field.ErrorList {
	if len(requests) > maxDeviceRequests {
		return field.ErrorList{field.TooMany(path, len(requests), maxDeviceRequests)}
	}
	var errs field.ErrorList
	names := sets.New[string]()
	for i, r := range requests {
		itemPath := path.Index(i)
		if r.Name == "" {
			errs = append(errs, field.Required(itemPath.Child("name"), ""))
		} else {
			errs = append(errs, checks.DNSLabel(r.Name, itemPath.Child("name"))...)
		}
		if names.Has(r.Name) {
			errs = append(errs, field.Duplicate(itemPath.Child("name"), r.Name))
		}
		names.Insert(r.Name)
		switch exact := r.Exactly; {
		case exact == nil && len(r.FirstAvailable) == 0:
			errs = append(errs, field.Required(itemPath, "exactly one of `exactly` or `firstAvailable` is required"))
		case exact != nil && len(r.FirstAvailable) > 0:
			errs = append(errs, field.Invalid(itemPath, nil, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"))
		case exact != nil:
			errs = append(errs, validateRequestedDevices(exact.DeviceClassName, exact.AllocationMode, exact.Count, itemPath.Child("exactly"))...)
		default:
			for j, sub := range r.FirstAvailable {
				errs = append(errs, validateRequestedDevices(sub.DeviceClassName, sub.AllocationMode, sub.Count, itemPath.Child("firstAvailable").Index(j))...)
			}
		}
	}
	return errs
}

func validateRequestedDevices(class string, mode resourcev1.DeviceAllocationMode, count int64, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if class == "" {
		errs = append(errs, field.Required(path.Child("deviceClassName"), ""))
	} else {
		errs = append(errs, checks.InvalidEach(path.Child("deviceClassName"), class, apivalidation.NameIsDNSSubdomain(class, false))...)
	}
	switch mode {
	case resourcev1.DeviceAllocationModeAll:
		if count != 0 {
			errs = append(errs, field.Invalid(path.Child("count"), count, fmt.Sprintf("must not be specified when allocationMode is '%s'", mode)))
		}
	case resourcev1.DeviceAllocationModeExactCount:
		if count <= 0 {
			errs = append(errs, field.Invalid(path.Child("count"), count, "must be greater than zero"))
		}
	default:
		errs = append(errs, checks.OneOf(mode, path.Child("allocationMode"), resourcev1.DeviceAllocationModeAll, resourcev1.DeviceAllocationModeExactCount)...)
	}
	return errs
}

// ValidateDeviceClass validates a new class.
func ValidateDeviceClass(c *resourcev1.DeviceClass) field.ErrorList {
	return checks.ObjectMeta(&c.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
}

// ValidateDeviceClassUpdate validates an update. All fields are mutable.
func ValidateDeviceClassUpdate(c, old *resourcev1.DeviceClass) field.ErrorList {
	return append(checks.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta), ValidateDeviceClass(c)...)
}

// ValidateResourceSlice validates a new slice.
func ValidateResourceSlice(s *resourcev1.ResourceSlice) field.ErrorList {
	errs := checks.ObjectMeta(&s.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	path := field.NewPath("spec")
	errs = append(errs, podvalidation.ValidateCSIDriverName(s.Spec.Driver, path.Child("driver"))...)
	if s.Spec.Pool.Name == "" {
		errs = append(errs, field.Required(path.Child("pool", "name"), ""))
	}
	if s.Spec.Pool.ResourceSliceCount <= 0 {
		errs = append(errs, field.Invalid(path.Child("pool", "resourceSliceCount"), s.Spec.Pool.ResourceSliceCount, "must be greater than zero"))
	}
	errs = append(errs, checks.NonNegative(s.Spec.Pool.Generation, path.Child("pool", "generation"))...)
	if n := len(s.Spec.Devices); n > maxSliceDevices {
		return append(errs, field.TooMany(path.Child("devices"), n, maxSliceDevices))
	}
	names := sets.New[string]()
	for i, d := range s.Spec.Devices {
		itemPath := path.Child("devices").Index(i).Child("name")
		errs = append(errs, checks.DNSLabel(d.Name, itemPath)...)
		if names.Has(d.Name) {
			errs = append(errs, field.Duplicate(itemPath, d.Name))
		}
		names.Insert(d.Name)
	}
	return errs
}

// ValidateResourceSliceUpdate rejects changes of node, driver and pool name.
func ValidateResourceSliceUpdate(s, old *resourcev1.ResourceSlice) field.ErrorList {
	path := field.NewPath("spec")
	errs := checks.ObjectMetaUpdate(&s.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, ValidateResourceSlice(s)...)
	errs = append(errs, checks.Immutable(s.Spec.NodeName, old.Spec.NodeName, path.Child("nodeName"))...)
	errs = append(errs, checks.Immutable(s.Spec.Driver, old.Spec.Driver, path.Child("driver"))...)
	return append(errs, checks.Immutable(s.Spec.Pool.Name, old.Spec.Pool.Name, path.Child("pool", "name"))...)
}
