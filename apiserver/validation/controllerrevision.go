package validation

import (
	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateControllerRevision validates a new ControllerRevision.
func ValidateControllerRevision(r *appsv1.ControllerRevision) field.ErrorList {
	errs := objectMeta(&r.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	if r.Data.Raw == nil && r.Data.Object == nil {
		errs = append(errs, field.Required(field.NewPath("data"), "data is mandatory"))
	}
	return append(errs, nonNegative(r.Revision, field.NewPath("revision"))...)
}

// ValidateControllerRevisionUpdate rejects changes of the data.
func ValidateControllerRevisionUpdate(r, old *appsv1.ControllerRevision) field.ErrorList {
	errs := objectMetaUpdate(&r.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, ValidateControllerRevision(r)...)
	return append(errs, immutable(r.Data, old.Data, field.NewPath("data"))...)
}
