package networking

import (
	"net"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// classAnnotation names the class in old manifests.
const classAnnotation = "kubernetes.io/ingress.class"

// ValidateIngress validates a new Ingress.
func ValidateIngress(ingress *networkingv1.Ingress) field.ErrorList {
	errs := checks.ObjectMeta(&ingress.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	if value, set := ingress.Annotations[classAnnotation]; set && ingress.Spec.IngressClassName != nil {
		errs = append(errs, field.Invalid(field.NewPath("annotations").Child(classAnnotation), value, "can not be set when the class field is also set"))
	}
	return append(errs, ingressSpec(&ingress.Spec)...)
}

// ValidateIngressUpdate validates an update.
func ValidateIngressUpdate(ingress, old *networkingv1.Ingress) field.ErrorList {
	return append(checks.ObjectMetaUpdate(&ingress.ObjectMeta, &old.ObjectMeta), ingressSpec(&ingress.Spec)...)
}

// ValidateIngressStatusUpdate validates an update of the status.
func ValidateIngressStatusUpdate(ingress, old *networkingv1.Ingress) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&ingress.ObjectMeta, &old.ObjectMeta)
	for i, in := range ingress.Status.LoadBalancer.Ingress {
		path := field.NewPath("status", "loadBalancer", "ingress").Index(i)
		if in.IP != "" {
			errs = append(errs, validation.IsValidIPForLegacyField(path.Child("ip"), in.IP, false, nil)...)
		}
		if in.Hostname != "" {
			errs = append(errs, checks.DNSSubdomain(in.Hostname, path.Child("hostname"))...)
			if net.ParseIP(in.Hostname) != nil {
				errs = append(errs, field.Invalid(path.Child("hostname"), in.Hostname, "must be a DNS name, not an IP address"))
			}
		}
	}
	return errs
}

func ingressSpec(s *networkingv1.IngressSpec) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if len(s.Rules) == 0 && s.DefaultBackend == nil {
		errs = append(errs, field.Invalid(path, s.Rules, "either `defaultBackend` or `rules` must be specified"))
	}
	if s.DefaultBackend != nil {
		errs = append(errs, backend(s.DefaultBackend, path.Child("defaultBackend"))...)
	}
	for i, rule := range s.Rules {
		at := path.Child("rules").Index(i)
		if rule.Host != "" {
			errs = append(errs, host(rule.Host, at.Child("host"))...)
		}
		if rule.HTTP != nil {
			errs = append(errs, ingressPaths(rule.HTTP.Paths, at.Child("http", "paths"))...)
		}
	}
	for i, tls := range s.TLS {
		for j, name := range tls.Hosts {
			errs = append(errs, host(name, path.Child("tls").Index(i).Child("hosts").Index(j))...)
		}
		if tls.SecretName != "" {
			errs = append(errs, checks.DNSSubdomain(tls.SecretName, path.Child("tls").Index(i).Child("secretName"))...)
		}
	}
	if s.IngressClassName != nil {
		errs = append(errs, checks.DNSSubdomain(*s.IngressClassName, path.Child("ingressClassName"))...)
	}
	return errs
}

// host requires a DNS name, of which the first label may be a wildcard.
func host(name string, path *field.Path) field.ErrorList {
	if net.ParseIP(name) != nil {
		return field.ErrorList{field.Invalid(path, name, "must be a DNS name, not an IP address")}
	}
	if strings.Contains(name, "*") {
		return checks.InvalidEach(path, name, validation.IsWildcardDNS1123Subdomain(name))
	}
	return checks.DNSSubdomain(name, path)
}

func ingressPaths(list []networkingv1.HTTPIngressPath, path *field.Path) (errs field.ErrorList) {
	if len(list) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	for i := range list {
		p, at := &list[i], path.Index(i)
		errs = append(errs, backend(&p.Backend, at.Child("backend"))...)
		if p.PathType == nil {
			errs = append(errs, field.Required(at.Child("pathType"), "pathType must be specified"))
			continue
		}
		switch *p.PathType {
		case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
			errs = append(errs, absolutePath(p.Path, at.Child("path"))...)
		case networkingv1.PathTypeImplementationSpecific:
			if p.Path != "" && !strings.HasPrefix(p.Path, "/") {
				errs = append(errs, field.Invalid(at.Child("path"), p.Path, "must be an absolute path"))
			}
		default:
			errs = append(errs, checks.OneOf(*p.PathType, at.Child("pathType"), networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix)...)
		}
	}
	return errs
}

func absolutePath(text string, path *field.Path) (errs field.ErrorList) {
	if !strings.HasPrefix(text, "/") {
		return field.ErrorList{field.Invalid(path, text, "must be an absolute path")}
	}
	for _, sequence := range []string{"//", "/./", "/../", "%2f", "%2F"} {
		if strings.Contains(text, sequence) {
			errs = append(errs, field.Invalid(path, text, "must not contain '"+sequence+"'"))
		}
	}
	for _, suffix := range []string{"/..", "/."} {
		if strings.HasSuffix(text, suffix) {
			errs = append(errs, field.Invalid(path, text, "cannot end with '"+suffix+"'"))
		}
	}
	return errs
}

func backend(b *networkingv1.IngressBackend, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case b.Service != nil && b.Resource != nil:
		return field.ErrorList{field.Invalid(path, "", "cannot set both resource and service backends")}
	case b.Resource != nil:
		if b.Resource.Kind == "" {
			errs = append(errs, field.Required(path.Child("resource", "kind"), ""))
		}
		if b.Resource.Name == "" {
			errs = append(errs, field.Required(path.Child("resource", "name"), ""))
		}
	case b.Service == nil:
		return field.ErrorList{field.Required(path, "")}
	default:
		service, port := path.Child("service"), path.Child("service", "port")
		if b.Service.Name == "" {
			errs = append(errs, field.Required(service.Child("name"), ""))
		} else {
			errs = append(errs, checks.InvalidEach(service.Child("name"), b.Service.Name, apivalidation.NameIsDNS1035Label(b.Service.Name, false))...)
		}
		switch p := b.Service.Port; {
		case p.Name == "" && p.Number == 0:
			errs = append(errs, field.Required(port, "port name or number is required"))
		case p.Name != "" && p.Number != 0:
			errs = append(errs, field.Invalid(service, "", "cannot set both port name & port number"))
		case p.Name != "":
			errs = append(errs, checks.InvalidEach(port.Child("name"), p.Name, validation.IsValidPortName(p.Name))...)
		default:
			errs = append(errs, checks.PortNumber(p.Number, port.Child("number"))...)
		}
	}
	return errs
}
