package policy

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// PrepareLeaseForCreate clears the fields of coordinated leader election, whose gate is off.
func PrepareLeaseForCreate(l *coordinationv1.Lease) {
	l.Spec.Strategy, l.Spec.PreferredHolder = nil, nil
}

// PrepareLeaseForUpdate clears the fields of coordinated leader election unless the stored object uses them.
func PrepareLeaseForUpdate(l, old *coordinationv1.Lease) {
	if old.Spec.Strategy == nil {
		l.Spec.Strategy = nil
	}
	if old.Spec.PreferredHolder == nil {
		l.Spec.PreferredHolder = nil
	}
}

// ValidateLease validates a new Lease.
func ValidateLease(l *coordinationv1.Lease) field.ErrorList {
	return append(checks.ObjectMeta(&l.ObjectMeta, true, apivalidation.NameIsDNSSubdomain), validateLeaseSpec(&l.Spec)...)
}

// ValidateLeaseUpdate validates an update.
func ValidateLeaseUpdate(l, old *coordinationv1.Lease) field.ErrorList {
	return append(checks.ObjectMetaUpdate(&l.ObjectMeta, &old.ObjectMeta), validateLeaseSpec(&l.Spec)...)
}

func validateLeaseSpec(spec *coordinationv1.LeaseSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := checks.PositiveIfSet(spec.LeaseDurationSeconds, path.Child("leaseDurationSeconds"))
	errs = append(errs, checks.NonNegativeIfSet(spec.LeaseTransitions, path.Child("leaseTransitions"))...)
	if spec.Strategy != nil {
		errs = append(errs, checks.QualifiedName(string(*spec.Strategy), path.Child("strategy"))...)
	}
	if spec.PreferredHolder != nil && *spec.PreferredHolder != "" && (spec.Strategy == nil || *spec.Strategy == "") {
		errs = append(errs, field.Forbidden(path.Child("preferredHolder"), "may only be specified when `strategy` is defined"))
	}
	return errs
}
