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

// DefaultResourceClaim sets the allocation mode ExactCount, the count 1, and the operator Equal of tolerations.
func DefaultResourceClaim(c *resourcev1.ResourceClaim) {
	defaultRequests(c.Spec.Devices.Requests)
	if c.Status.Allocation != nil {
		for i := range c.Status.Allocation.Devices.Results {
			defaultTolerations(c.Status.Allocation.Devices.Results[i].Tolerations)
		}
	}
}

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
			defaultTolerations(exact.Tolerations)
		}
		for j := range requests[i].FirstAvailable {
			sub := &requests[i].FirstAvailable[j]
			setDefaults(&sub.AllocationMode, &sub.Count)
			defaultTolerations(sub.Tolerations)
		}
	}
}

func defaultTolerations(tolerations []resourcev1.DeviceToleration) {
	for i := range tolerations {
		defaulting.Set(&tolerations[i].Operator, resourcev1.DeviceTolerationOpEqual)
	}
}

// ValidateResourceClaim validates a new claim.
func ValidateResourceClaim(c *resourcev1.ResourceClaim) field.ErrorList {
	errs := checks.ObjectMeta(&c.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateClaimSpec(&c.Spec, nil, field.NewPath("spec"))...)
}

// ValidateResourceClaimUpdate rejects changes of the spec.
func ValidateResourceClaimUpdate(c, old *resourcev1.ResourceClaim) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checks.Immutable(c.Spec, old.Spec, field.NewPath("spec"))...)
	errs = append(errs, checks.ObjectMeta(&c.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)...)
	return append(errs, validateClaimSpec(&c.Spec, &old.Spec, field.NewPath("spec"))...)
}

// ValidateResourceClaimStatusUpdate rejects reservations without an allocation. The generated rules reject changes
// of an existing allocation and duplicate reservations. An allocation without reservations may be removed.
func ValidateResourceClaimStatusUpdate(c, old *resourcev1.ResourceClaim) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status")
	if len(c.Status.ReservedFor) > 0 && c.Status.Allocation == nil {
		errs = append(errs, field.Forbidden(path.Child("reservedFor"), "may not be specified when `allocated` is not set"))
	}
	return append(errs, generated(resourcev1.Validate_ResourceClaimStatus, path, &c.Status, &old.Status)...)
}

// ValidateResourceClaimTemplate validates a new template.
func ValidateResourceClaimTemplate(t *resourcev1.ResourceClaimTemplate) field.ErrorList {
	errs := checks.ObjectMeta(&t.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateClaimSpec(&t.Spec.Spec, nil, field.NewPath("spec", "spec"))...)
}

// ValidateResourceClaimTemplateUpdate rejects changes of the spec.
func ValidateResourceClaimTemplateUpdate(t, old *resourcev1.ResourceClaimTemplate) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&t.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checks.Immutable(t.Spec, old.Spec, field.NewPath("spec"))...)
	errs = append(errs, checks.ObjectMeta(&t.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)...)
	return append(errs, validateClaimSpec(&t.Spec.Spec, &old.Spec.Spec, field.NewPath("spec", "spec"))...)
}

// validateClaimSpec applies the generated rules and validates the names, classes and counts of the requests. old is nil
// for a new object.
func validateClaimSpec(spec, old *resourcev1.ResourceClaimSpec, path *field.Path) field.ErrorList {
	errs := generated(resourcev1.Validate_ResourceClaimSpec, path, spec, old)
	if len(spec.Devices.Requests) > resourcev1.DeviceRequestsMaxSize {
		return errs
	}
	for i, r := range spec.Devices.Requests {
		itemPath := path.Child("devices", "requests").Index(i)
		errs = append(errs, validateRequestName(r.Name, itemPath.Child("name"))...)
		switch exact := r.Exactly; {
		case exact == nil && len(r.FirstAvailable) == 0:
			errs = append(errs, field.Required(itemPath, "exactly one of `exactly` or `firstAvailable` is required"))
		case exact != nil && len(r.FirstAvailable) > 0:
			errs = append(errs, field.Invalid(itemPath, nil, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"))
		case exact != nil:
			exactPath := itemPath.Child("exactly")
			errs = append(errs, validateClassName(exact.DeviceClassName, exactPath.Child("deviceClassName"))...)
			errs = append(errs, validateCount(exact.AllocationMode, exact.Count, exactPath.Child("count"))...)
		default:
			for j, sub := range r.FirstAvailable {
				subPath := itemPath.Child("firstAvailable").Index(j)
				errs = append(errs, validateRequestName(sub.Name, subPath.Child("name"))...)
				errs = append(errs, validateCount(sub.AllocationMode, sub.Count, subPath.Child("count"))...)
			}
		}
	}
	return errs
}

func validateRequestName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return checks.DNSLabel(name, path)
}

func validateClassName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return checks.InvalidEach(path, name, apivalidation.NameIsDNSSubdomain(name, false))
}

func validateCount(mode resourcev1.DeviceAllocationMode, count int64, path *field.Path) field.ErrorList {
	switch {
	case mode == resourcev1.DeviceAllocationModeAll && count != 0:
		return field.ErrorList{field.Invalid(path, count, fmt.Sprintf("must not be specified when allocationMode is '%s'", mode))}
	case mode == resourcev1.DeviceAllocationModeExactCount && count <= 0:
		return field.ErrorList{field.Invalid(path, count, "must be greater than zero")}
	}
	return nil
}

// ValidateDeviceClass validates a new class.
func ValidateDeviceClass(c *resourcev1.DeviceClass) field.ErrorList {
	errs := checks.ObjectMeta(&c.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	return append(errs, generated(resourcev1.Validate_DeviceClassSpec, field.NewPath("spec"), &c.Spec, nil)...)
}

// ValidateDeviceClassUpdate validates an update. All fields are mutable.
func ValidateDeviceClassUpdate(c, old *resourcev1.DeviceClass) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checks.ObjectMeta(&c.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)...)
	return append(errs, generated(resourcev1.Validate_DeviceClassSpec, field.NewPath("spec"), &c.Spec, &old.Spec)...)
}

// ValidateResourceSlice validates a new slice.
func ValidateResourceSlice(s *resourcev1.ResourceSlice) field.ErrorList { return validateSlice(s, nil) }

// validateSlice applies the generated rules and validates the pool and the names. old is nil for a new slice.
func validateSlice(s *resourcev1.ResourceSlice, old *resourcev1.ResourceSliceSpec) field.ErrorList {
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
	if n := len(s.Spec.Devices); n > resourcev1.ResourceSliceMaxDevices {
		return append(errs, field.TooMany(path.Child("devices"), n, resourcev1.ResourceSliceMaxDevices))
	}
	errs = append(errs, generated(resourcev1.Validate_ResourceSliceSpec, path, &s.Spec, old)...)
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
	errs = append(errs, validateSlice(s, &old.Spec)...)
	errs = append(errs, checks.Immutable(s.Spec.NodeName, old.Spec.NodeName, path.Child("nodeName"))...)
	errs = append(errs, checks.Immutable(s.Spec.Driver, old.Spec.Driver, path.Child("driver"))...)
	return append(errs, checks.Immutable(s.Spec.Pool.Name, old.Spec.Pool.Name, path.Child("pool", "name"))...)
}
