package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// ValidateControllerRevision validates a new ControllerRevision.
func ValidateControllerRevision(r *appsv1.ControllerRevision) field.ErrorList {
	errs := checks.ObjectMeta(&r.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	if r.Data.Raw == nil && r.Data.Object == nil {
		errs = append(errs, field.Required(field.NewPath("data"), "data is mandatory"))
	}
	return append(errs, checks.NonNegative(r.Revision, field.NewPath("revision"))...)
}

// ValidateControllerRevisionUpdate validates an update, which must not change the data.
func ValidateControllerRevisionUpdate(r, old *appsv1.ControllerRevision) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&r.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, ValidateControllerRevision(r)...)
	return append(errs, checks.Immutable(r.Data, old.Data, field.NewPath("data"))...)
}
