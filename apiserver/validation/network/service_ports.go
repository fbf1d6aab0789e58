package network

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

func validateServicePort(p *corev1.ServicePort, nameRequired bool, names sets.Set[string], path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case p.Name != "":
		errs = append(errs, checks.DNSLabel(p.Name, path.Child("name"))...)
		if names.Has(p.Name) {
			errs = append(errs, field.Duplicate(path.Child("name"), p.Name))
		}
		names.Insert(p.Name)
	case nameRequired:
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	errs = append(errs, checks.PortNumber(p.Port, path.Child("port"))...)
	if p.Protocol == "" {
		errs = append(errs, field.Required(path.Child("protocol"), ""))
	} else {
		errs = append(errs, checks.OneOf(p.Protocol, path.Child("protocol"), protocols...)...)
	}
	errs = append(errs, checks.PortNumberOrName(p.TargetPort, path.Child("targetPort"))...)
	if p.AppProtocol != nil {
		errs = append(errs, checks.QualifiedName(*p.AppProtocol, path.Child("appProtocol"))...)
	}
	return errs
}

// validateDistinctPorts requires unique pairs of port and protocol, and of node port and protocol.
func validateDistinctPorts(spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	type portKey struct {
		Protocol corev1.Protocol
		Port     int32
	}
	var errs field.ErrorList
	nodePorts, ports := sets.New[portKey](), sets.New[portKey]()
	for i, p := range spec.Ports {
		if p.NodePort == 0 {
			continue
		}
		itemPath := path.Index(i).Child("nodePort")
		if spec.Type != corev1.ServiceTypeNodePort && spec.Type != corev1.ServiceTypeLoadBalancer {
			errs = append(errs, field.Forbidden(itemPath, fmt.Sprintf("may not be used when `type` is '%s'", spec.Type)))
			continue
		}
		key := portKey{p.Protocol, p.NodePort}
		if nodePorts.Has(key) {
			errs = append(errs, field.Duplicate(itemPath, p.NodePort))
		}
		nodePorts.Insert(key)
	}
	for i, p := range spec.Ports {
		key := portKey{p.Protocol, p.Port}
		if ports.Has(key) {
			// kube-apiserver prints its internal type.
			errs = append(errs, field.Duplicate(path.Index(i), struct {
				Name        string
				Protocol    corev1.Protocol
				AppProtocol *string
				Port        int32
				TargetPort  intstr.IntOrString
				NodePort    int32
			}{Protocol: p.Protocol, Port: p.Port}))
		}
		ports.Insert(key)
	}
	return errs
}
