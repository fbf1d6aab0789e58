package networking

import (
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// ValidateServiceCIDR validates a new range: one CIDR, or one for each IP family.
func ValidateServiceCIDR(c *networkingv1.ServiceCIDR) field.ErrorList {
	errs := checks.ObjectMeta(&c.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	path := field.NewPath("spec", "cidrs")
	if len(c.Spec.CIDRs) == 0 {
		return append(errs, field.Required(path, "at least one CIDR required"))
	}
	if len(c.Spec.CIDRs) > 2 {
		return append(errs, field.Invalid(path, c.Spec, "may only hold up to 2 values"))
	}
	families := map[bool]bool{}
	for i, cidr := range c.Spec.CIDRs {
		errs = append(errs, validation.IsValidCIDR(path.Index(i), cidr)...)
		if prefix, err := netip.ParsePrefix(cidr); err == nil {
			families[prefix.Addr().Is4()] = true
		}
	}
	if len(errs) == 0 && len(families) < len(c.Spec.CIDRs) {
		errs = append(errs, field.Invalid(path, c.Spec, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"))
	}
	return errs
}

// ValidateServiceCIDRUpdate validates an update. The CIDRs are immutable.
func ValidateServiceCIDRUpdate(c, old *networkingv1.ServiceCIDR) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	return append(errs, checks.Immutable(c.Spec.CIDRs, old.Spec.CIDRs, field.NewPath("spec", "cidrs"))...)
}

// ValidateServiceCIDRStatusUpdate validates the metadata of an update of the status.
func ValidateServiceCIDRStatusUpdate(c, old *networkingv1.ServiceCIDR) field.ErrorList {
	return checks.ObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
}
