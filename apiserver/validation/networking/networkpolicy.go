package networking

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// DefaultNetworkPolicy sets protocol TCP and the policy types: always Ingress, and Egress if there
// are rules for it.
func DefaultNetworkPolicy(p *networkingv1.NetworkPolicy) {
	for i := range p.Spec.Ingress {
		defaultPorts(p.Spec.Ingress[i].Ports)
	}
	for i := range p.Spec.Egress {
		defaultPorts(p.Spec.Egress[i].Ports)
	}
	if len(p.Spec.PolicyTypes) == 0 {
		p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(p.Spec.Egress) > 0 {
			p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
}

func defaultPorts(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		defaulting.SetPointer(&ports[i].Protocol, corev1.ProtocolTCP)
	}
}

// ValidateNetworkPolicy validates a new policy.
func ValidateNetworkPolicy(p *networkingv1.NetworkPolicy) field.ErrorList {
	errs := checks.ObjectMeta(&p.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateNetworkPolicySpec(&p.Spec)...)
}

// ValidateNetworkPolicyUpdate validates an update.
func ValidateNetworkPolicyUpdate(p, old *networkingv1.NetworkPolicy) field.ErrorList {
	return append(checks.ObjectMetaUpdate(&p.ObjectMeta, &old.ObjectMeta), validateNetworkPolicySpec(&p.Spec)...)
}

func validateNetworkPolicySpec(s *networkingv1.NetworkPolicySpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := checks.LabelSelector(&s.PodSelector, false, path.Child("podSelector"))
	for i, rule := range s.Ingress {
		itemPath := path.Child("ingress").Index(i)
		errs = append(errs, validatePolicyPorts(rule.Ports, itemPath.Child("ports"))...)
		errs = append(errs, validatePeers(rule.From, itemPath.Child("from"))...)
	}
	for i, rule := range s.Egress {
		itemPath := path.Child("egress").Index(i)
		errs = append(errs, validatePolicyPorts(rule.Ports, itemPath.Child("ports"))...)
		errs = append(errs, validatePeers(rule.To, itemPath.Child("to"))...)
	}
	if len(s.PolicyTypes) > 2 {
		return append(errs, field.Invalid(path.Child("policyTypes"), s.PolicyTypes, "may not specify more than two policyTypes"))
	}
	for i, policyType := range s.PolicyTypes {
		errs = append(errs, checks.OneOf(policyType, path.Child("policyTypes").Index(i), networkingv1.PolicyTypeEgress, networkingv1.PolicyTypeIngress)...)
	}
	return errs
}

func validatePolicyPorts(ports []networkingv1.NetworkPolicyPort, path *field.Path) (errs field.ErrorList) {
	for i, p := range ports {
		itemPath := path.Index(i)
		if p.Protocol != nil {
			errs = append(errs, checks.OneOf(*p.Protocol, itemPath.Child("protocol"), corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)...)
		}
		if p.Port != nil {
			errs = append(errs, checks.PortNumberOrName(*p.Port, itemPath.Child("port"))...)
		}
		if p.EndPort == nil {
			continue
		}
		switch {
		case p.Port == nil:
			errs = append(errs, field.Invalid(itemPath.Child("endPort"), *p.EndPort, "may not be specified when `port` is not specified"))
		case p.Port.Type == intstr.String:
			errs = append(errs, field.Invalid(itemPath.Child("endPort"), *p.EndPort, "may not be specified when `port` is non-numeric"))
		case *p.EndPort < p.Port.IntVal:
			errs = append(errs, field.Invalid(itemPath.Child("endPort"), *p.EndPort, "must be greater than or equal to `port`"))
		default:
			errs = append(errs, checks.PortNumber(*p.EndPort, itemPath.Child("endPort"))...)
		}
	}
	return errs
}

func validatePeers(peers []networkingv1.NetworkPolicyPeer, path *field.Path) (errs field.ErrorList) {
	for i, peer := range peers {
		itemPath := path.Index(i)
		switch {
		case peer.PodSelector == nil && peer.NamespaceSelector == nil && peer.IPBlock == nil:
			errs = append(errs, field.Required(itemPath, "must specify a peer"))
		case peer.IPBlock != nil && (peer.PodSelector != nil || peer.NamespaceSelector != nil):
			errs = append(errs, field.Forbidden(itemPath, "may not specify both ipBlock and another peer"))
		}
		if peer.PodSelector != nil {
			errs = append(errs, checks.LabelSelector(peer.PodSelector, false, itemPath.Child("podSelector"))...)
		}
		if peer.NamespaceSelector != nil {
			errs = append(errs, checks.LabelSelector(peer.NamespaceSelector, false, itemPath.Child("namespaceSelector"))...)
		}
		if peer.IPBlock != nil {
			errs = append(errs, validateIPBlock(peer.IPBlock, itemPath.Child("ipBlock"))...)
		}
	}
	return errs
}

// validateIPBlock requires every exception to be a strict subset of the block.
func validateIPBlock(b *networkingv1.IPBlock, path *field.Path) field.ErrorList {
	if b.CIDR == "" {
		return field.ErrorList{field.Required(path.Child("cidr"), "")}
	}
	errs := validation.IsValidCIDRForLegacyField(path.Child("cidr"), b.CIDR, false, nil)
	block, err := netip.ParsePrefix(b.CIDR)
	if err != nil {
		return errs
	}
	for i, cidr := range b.Except {
		itemPath := path.Child("except").Index(i)
		invalid := validation.IsValidCIDRForLegacyField(itemPath, cidr, false, nil)
		errs = append(errs, invalid...)
		if except, err := netip.ParsePrefix(cidr); err == nil && (!block.Contains(except.Addr()) || except.Bits() <= block.Bits()) {
			errs = append(errs, field.Invalid(itemPath, cidr, fmt.Sprintf("must be a strict subset of `cidr`: %q", b.CIDR)))
		}
	}
	return errs
}
