package network

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// DefaultEndpointSlice sets the default port name "" and protocol TCP.
func DefaultEndpointSlice(s *discoveryv1.EndpointSlice) {
	for i := range s.Ports {
		checks.SetDefaultPointer(&s.Ports[i].Name, "")
		checks.SetDefaultPointer(&s.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}

// PrepareEndpointSliceForCreate clears deprecatedTopology.
func PrepareEndpointSliceForCreate(s *discoveryv1.EndpointSlice) {
	for i := range s.Endpoints {
		s.Endpoints[i].DeprecatedTopology = nil
	}
}

// PrepareEndpointSliceForUpdate clears deprecatedTopology unless the stored object uses it.
func PrepareEndpointSliceForUpdate(s, old *discoveryv1.EndpointSlice) {
	for i := range old.Endpoints {
		if len(old.Endpoints[i].DeprecatedTopology) > 0 {
			return
		}
	}
	PrepareEndpointSliceForCreate(s)
}

// ValidateEndpointSlice validates a new EndpointSlice.
func ValidateEndpointSlice(s *discoveryv1.EndpointSlice) field.ErrorList {
	errs := checks.ObjectMeta(&s.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	if s.AddressType == "" {
		errs = append(errs, field.Required(field.NewPath("addressType"), ""))
	} else {
		errs = append(errs, checks.OneOf(s.AddressType, field.NewPath("addressType"), discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)...)
	}
	errs = append(errs, sliceEndpoints(s.Endpoints, s.AddressType, field.NewPath("endpoints"))...)
	return append(errs, slicePorts(s.Ports, field.NewPath("ports"))...)
}

// ValidateEndpointSliceUpdate validates an update. The address type is immutable.
func ValidateEndpointSliceUpdate(s, old *discoveryv1.EndpointSlice) field.ErrorList {
	errs := ValidateEndpointSlice(s)
	return append(errs, checks.Immutable(s.AddressType, old.AddressType, field.NewPath("addressType"))...)
}

func sliceEndpoints(list []discoveryv1.Endpoint, kind discoveryv1.AddressType, path *field.Path) field.ErrorList {
	if len(list) > maxEndpoints {
		return field.ErrorList{field.TooMany(path, len(list), maxEndpoints)}
	}
	var errs field.ErrorList
	for i := range list {
		e, at := &list[i], path.Index(i)
		addresses := at.Child("addresses")
		switch n := len(e.Addresses); {
		case n == 0:
			errs = append(errs, field.Required(addresses, "must contain at least 1 address"))
		case n > maxAddresses:
			errs = append(errs, field.TooMany(addresses, n, maxAddresses))
		}
		for j, address := range e.Addresses {
			errs = append(errs, sliceAddress(address, kind, addresses.Index(j))...)
		}
		if e.NodeName != nil {
			errs = append(errs, checks.InvalidEach(at.Child("nodeName"), *e.NodeName, apivalidation.NameIsDNSSubdomain(*e.NodeName, false))...)
		}
		topology := at.Child("deprecatedTopology")
		if n := len(e.DeprecatedTopology); n > maxTopologyLabels {
			errs = append(errs, field.TooMany(topology, n, maxTopologyLabels))
		}
		errs = append(errs, metavalidation.ValidateLabels(e.DeprecatedTopology, topology)...)
		if _, found := e.DeprecatedTopology[corev1.LabelHostname]; found {
			errs = append(errs, field.Invalid(topology.Key(corev1.LabelHostname), e.DeprecatedTopology[corev1.LabelHostname], "must not be used, use nodeName instead"))
		}
		if e.Hostname != nil {
			errs = append(errs, checks.DNSLabel(*e.Hostname, at.Child("hostname"))...)
		}
		errs = append(errs, sliceHints(e.Hints, at.Child("hints"))...)
	}
	return errs
}

func sliceAddress(address string, kind discoveryv1.AddressType, path *field.Path) field.ErrorList {
	switch kind {
	case discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6:
		errs := validation.IsValidIPForLegacyField(path, address, false, nil)
		if len(errs) > 0 {
			return errs
		}
		if utilsnet.IsIPv6String(address) != (kind == discoveryv1.AddressTypeIPv6) {
			errs = append(errs, field.Invalid(path, address, fmt.Sprintf("must be an %s address", kind)))
		}
		return append(errs, notSpecialIP(address, path)...)
	case discoveryv1.AddressTypeFQDN:
		return validation.IsFullyQualifiedDomainName(path, address)
	}
	return nil
}

func sliceHints(hints *discoveryv1.EndpointHints, path *field.Path) field.ErrorList {
	if hints == nil {
		return nil
	}
	var errs field.ErrorList
	zones, nodes := sets.New[string](), sets.New[string]()
	if n := len(hints.ForZones); n > maxZoneHints {
		return field.ErrorList{field.TooMany(path.Child("forZones"), n, maxZoneHints)}
	}
	for i, z := range hints.ForZones {
		at := path.Child("forZones").Index(i).Child("name")
		if zones.Has(z.Name) {
			errs = append(errs, field.Duplicate(at, z.Name))
		}
		zones.Insert(z.Name)
		errs = append(errs, checks.InvalidEach(at, z.Name, validation.IsValidLabelValue(z.Name))...)
	}
	if n := len(hints.ForNodes); n > maxNodeHints {
		return append(errs, field.TooMany(path.Child("forNodes"), n, maxNodeHints))
	}
	for i, n := range hints.ForNodes {
		at := path.Child("forNodes").Index(i).Child("name")
		if nodes.Has(n.Name) {
			errs = append(errs, field.Duplicate(at, n.Name))
		}
		nodes.Insert(n.Name)
		errs = append(errs, checks.InvalidEach(at, n.Name, apivalidation.NameIsDNSSubdomain(n.Name, false))...)
	}
	return errs
}

func slicePorts(list []discoveryv1.EndpointPort, path *field.Path) field.ErrorList {
	if len(list) > maxSlicePorts {
		return field.ErrorList{field.TooMany(path, len(list), maxSlicePorts)}
	}
	var errs field.ErrorList
	names := sets.New[string]()
	for i, p := range list {
		at, name := path.Index(i), ""
		if p.Name != nil {
			name = *p.Name
		}
		if name != "" {
			errs = append(errs, checks.DNSLabel(name, at.Child("name"))...)
		}
		if names.Has(name) {
			errs = append(errs, field.Duplicate(at.Key("name"), p.Name))
		}
		names.Insert(name)
		if p.Protocol == nil {
			errs = append(errs, field.Required(at.Child("protocol"), ""))
		} else {
			errs = append(errs, checks.OneOf(*p.Protocol, at.Child("protocol"), protocols...)...)
		}
		if p.AppProtocol != nil {
			errs = append(errs, checks.QualifiedName(*p.AppProtocol, at.Child("appProtocol"))...)
		}
	}
	return errs
}
