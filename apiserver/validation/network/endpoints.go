package network

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// validateEndpointIP rejects addresses that cannot belong to an endpoint.
func validateEndpointIP(ip string, path *field.Path) field.ErrorList {
	errs := validation.IsValidIPForLegacyField(path, ip, false, nil)
	if len(errs) > 0 {
		return errs
	}
	return append(errs, validateNotSpecialIP(ip, path)...)
}

// validateNotSpecialIP rejects unspecified, loopback and link-local addresses.
func validateNotSpecialIP(address string, path *field.Path) field.ErrorList {
	ip := utilsnet.ParseIPSloppy(address)
	if ip == nil {
		return field.ErrorList{field.Invalid(path, address, "must be a valid IP address")}
	}
	var errs field.ErrorList
	for _, special := range []struct {
		found  bool
		detail string
	}{
		{ip.IsUnspecified(), fmt.Sprintf("may not be unspecified (%v)", address)},
		{ip.IsLoopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)"},
		{ip.IsLinkLocalUnicast(), "may not be in the link-local range (169.254.0.0/16, fe80::/10)"},
		{ip.IsLinkLocalMulticast(), "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"},
	} {
		if special.found {
			errs = append(errs, field.Invalid(path, address, special.detail))
		}
	}
	return errs
}

// DefaultEndpoints sets the default protocol of ports, TCP.
func DefaultEndpoints(e *corev1.Endpoints) { //nolint:staticcheck // the deprecated API is still served
	for i := range e.Subsets {
		for j := range e.Subsets[i].Ports {
			defaulting.Set(&e.Subsets[i].Ports[j].Protocol, corev1.ProtocolTCP)
		}
	}
}

// ValidateEndpoints validates new Endpoints.
func ValidateEndpoints(e *corev1.Endpoints) field.ErrorList { //nolint:staticcheck // the deprecated API is still served
	errs := checks.ObjectMeta(&e.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateSubsets(e.Subsets)...)
}

// ValidateEndpointsUpdate validates an update. All fields are mutable.
func ValidateEndpointsUpdate(e, old *corev1.Endpoints) field.ErrorList { //nolint:staticcheck // the deprecated API is still served
	errs := checks.ObjectMetaUpdate(&e.ObjectMeta, &old.ObjectMeta)
	return append(errs, validateSubsets(e.Subsets)...)
}

func validateSubsets(subsets []corev1.EndpointSubset) field.ErrorList { //nolint:staticcheck // the deprecated API is still served
	var errs field.ErrorList
	for i := range subsets {
		s, path := &subsets[i], field.NewPath("subsets").Index(i)
		if len(s.Addresses)+len(s.NotReadyAddresses) == 0 {
			errs = append(errs, field.Required(path, "must specify `addresses` or `notReadyAddresses`"))
		}
		validateAddress := func(a *corev1.EndpointAddress, addressPath *field.Path) {
			errs = append(errs, validation.IsValidIPForLegacyField(addressPath.Child("ip"), a.IP, false, nil)...)
			if a.Hostname != "" {
				errs = append(errs, checks.DNSLabel(a.Hostname, addressPath.Child("hostname"))...)
			}
			if a.NodeName != nil {
				errs = append(errs, checks.InvalidEach(addressPath.Child("nodeName"), *a.NodeName, apivalidation.NameIsDNSSubdomain(*a.NodeName, false))...)
			}
			errs = append(errs, validateNotSpecialIP(a.IP, addressPath.Child("ip"))...)
		}
		for j := range s.Addresses {
			validateAddress(&s.Addresses[j], path.Child("addresses").Index(j))
		}
		for j := range s.NotReadyAddresses {
			validateAddress(&s.NotReadyAddresses[j], path.Child("notReadyAddresses").Index(j))
		}
		for j := range s.Ports {
			errs = append(errs, validateEndpointPort(&s.Ports[j], len(s.Ports) > 1, path.Child("ports").Index(j))...)
		}
	}
	return errs
}

func validateEndpointPort(p *corev1.EndpointPort, nameRequired bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case p.Name != "":
		errs = append(errs, checks.DNSLabel(p.Name, path.Child("name"))...)
	case nameRequired:
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	errs = append(errs, checks.PortNumber(p.Port, path.Child("port"))...)
	if p.Protocol == "" {
		errs = append(errs, field.Required(path.Child("protocol"), ""))
	} else {
		errs = append(errs, checks.OneOf(p.Protocol, path.Child("protocol"), protocols...)...)
	}
	if p.AppProtocol != nil {
		errs = append(errs, checks.QualifiedName(*p.AppProtocol, path.Child("appProtocol"))...)
	}
	return errs
}
