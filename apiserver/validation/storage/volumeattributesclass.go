package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// ValidateVolumeAttributesClass validates a new class.
func ValidateVolumeAttributesClass(c *storagev1.VolumeAttributesClass) field.ErrorList {
	errs := checks.ObjectMeta(&c.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateProvisioner(c.DriverName, field.NewPath("driverName"))...)
	if len(c.Parameters) == 0 {
		return append(errs, field.Required(field.NewPath("parameters"), "must contain at least one key/value pair"))
	}
	return append(errs, validateParameters(c.Parameters, field.NewPath("parameters"))...)
}

// ValidateVolumeAttributesClassUpdate rejects changes of driver and parameters.
func ValidateVolumeAttributesClassUpdate(c, old *storagev1.VolumeAttributesClass) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checks.Immutable(c.DriverName, old.DriverName, field.NewPath("driverName"))...)
	return append(errs, checks.Immutable(c.Parameters, old.Parameters, field.NewPath("parameters"))...)
}
