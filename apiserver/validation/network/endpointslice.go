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

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// Limits of an EndpointSlice: its endpoints and ports, and the lists of one endpoint.
const (
	maxEndpoints      = 1000
	maxSlicePorts     = 20000
	maxAddresses      = 100
	maxTopologyLabels = 16
	maxZoneHints      = 8
	maxNodeHints      = 8
)

// DefaultEndpointSlice sets the default port name "" and protocol TCP.
func DefaultEndpointSlice(s *discoveryv1.EndpointSlice) {
	for i := range s.Ports {
		defaulting.SetPointer(&s.Ports[i].Name, "")
		defaulting.SetPointer(&s.Ports[i].Protocol, corev1.ProtocolTCP)
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
	errs = append(errs, validateSliceEndpoints(s.Endpoints, s.AddressType, field.NewPath("endpoints"))...)
	return append(errs, validateSlicePorts(s.Ports, field.NewPath("ports"))...)
}

// ValidateEndpointSliceUpdate validates an update. The address type is immutable.
func ValidateEndpointSliceUpdate(s, old *discoveryv1.EndpointSlice) field.ErrorList {
	errs := ValidateEndpointSlice(s)
	return append(errs, checks.Immutable(s.AddressType, old.AddressType, field.NewPath("addressType"))...)
}

func validateSliceEndpoints(endpoints []discoveryv1.Endpoint, addressType discoveryv1.AddressType, path *field.Path) field.ErrorList {
	if len(endpoints) > maxEndpoints {
		return field.ErrorList{field.TooMany(path, len(endpoints), maxEndpoints)}
	}
	var errs field.ErrorList
	for i := range endpoints {
		e, itemPath := &endpoints[i], path.Index(i)
		addressesPath := itemPath.Child("addresses")
		switch n := len(e.Addresses); {
		case n == 0:
			errs = append(errs, field.Required(addressesPath, "must contain at least 1 address"))
		case n > maxAddresses:
			errs = append(errs, field.TooMany(addressesPath, n, maxAddresses))
		}
		for j, address := range e.Addresses {
			errs = append(errs, validateSliceAddress(address, addressType, addressesPath.Index(j))...)
		}
		if e.NodeName != nil {
			errs = append(errs, checks.InvalidEach(itemPath.Child("nodeName"), *e.NodeName, apivalidation.NameIsDNSSubdomain(*e.NodeName, false))...)
		}
		topologyPath := itemPath.Child("deprecatedTopology")
		if n := len(e.DeprecatedTopology); n > maxTopologyLabels {
			errs = append(errs, field.TooMany(topologyPath, n, maxTopologyLabels))
		}
		errs = append(errs, metavalidation.ValidateLabels(e.DeprecatedTopology, topologyPath)...)
		if _, found := e.DeprecatedTopology[corev1.LabelHostname]; found {
			errs = append(errs, field.Invalid(topologyPath.Key(corev1.LabelHostname), e.DeprecatedTopology[corev1.LabelHostname], "must not be used, use nodeName instead"))
		}
		if e.Hostname != nil {
			errs = append(errs, checks.DNSLabel(*e.Hostname, itemPath.Child("hostname"))...)
		}
		errs = append(errs, validateSliceHints(e.Hints, itemPath.Child("hints"))...)
	}
	return errs
}

func validateSliceAddress(address string, addressType discoveryv1.AddressType, path *field.Path) field.ErrorList {
	switch addressType {
	case discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6:
		errs := validation.IsValidIPForLegacyField(path, address, false, nil)
		if len(errs) > 0 {
			return errs
		}
		if utilsnet.IsIPv6String(address) != (addressType == discoveryv1.AddressTypeIPv6) {
			errs = append(errs, field.Invalid(path, address, fmt.Sprintf("must be an %s address", addressType)))
		}
		return append(errs, validateNotSpecialIP(address, path)...)
	case discoveryv1.AddressTypeFQDN:
		return validation.IsFullyQualifiedDomainName(path, address)
	}
	return nil
}

func validateSliceHints(hints *discoveryv1.EndpointHints, path *field.Path) field.ErrorList {
	if hints == nil {
		return nil
	}
	var errs field.ErrorList
	zones, nodes := sets.New[string](), sets.New[string]()
	if n := len(hints.ForZones); n > maxZoneHints {
		return field.ErrorList{field.TooMany(path.Child("forZones"), n, maxZoneHints)}
	}
	for i, z := range hints.ForZones {
		itemPath := path.Child("forZones").Index(i).Child("name")
		if zones.Has(z.Name) {
			errs = append(errs, field.Duplicate(itemPath, z.Name))
		}
		zones.Insert(z.Name)
		errs = append(errs, checks.InvalidEach(itemPath, z.Name, validation.IsValidLabelValue(z.Name))...)
	}
	if n := len(hints.ForNodes); n > maxNodeHints {
		return append(errs, field.TooMany(path.Child("forNodes"), n, maxNodeHints))
	}
	for i, n := range hints.ForNodes {
		itemPath := path.Child("forNodes").Index(i).Child("name")
		if nodes.Has(n.Name) {
			errs = append(errs, field.Duplicate(itemPath, n.Name))
		}
		nodes.Insert(n.Name)
		errs = append(errs, checks.InvalidEach(itemPath, n.Name, apivalidation.NameIsDNSSubdomain(n.Name, false))...)
	}
	return errs
}

func validateSlicePorts(ports []discoveryv1.EndpointPort, path *field.Path) field.ErrorList {
	if len(ports) > maxSlicePorts {
		return field.ErrorList{field.TooMany(path, len(ports), maxSlicePorts)}
	}
	var errs field.ErrorList
	names := sets.New[string]()
	for i, p := range ports {
		itemPath, name := path.Index(i), ""
		if p.Name != nil {
			name = *p.Name
		}
		if name != "" {
			errs = append(errs, checks.DNSLabel(name, itemPath.Child("name"))...)
		}
		if names.Has(name) {
			errs = append(errs, field.Duplicate(itemPath.Key("name"), p.Name))
		}
		names.Insert(name)
		if p.Protocol == nil {
			errs = append(errs, field.Required(itemPath.Child("protocol"), ""))
		} else {
			errs = append(errs, checks.OneOf(*p.Protocol, itemPath.Child("protocol"), protocols...)...)
		}
		if p.AppProtocol != nil {
			errs = append(errs, checks.QualifiedName(*p.AppProtocol, itemPath.Child("appProtocol"))...)
		}
	}
	return errs
}
