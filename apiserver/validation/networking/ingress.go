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

// classAnnotation is the annotation that names the class in old manifests.
const classAnnotation = "kubernetes.io/ingress.class"

// ValidateIngress validates a new Ingress.
func ValidateIngress(ingress *networkingv1.Ingress) field.ErrorList {
	errs := checks.ObjectMeta(&ingress.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	if value, found := ingress.Annotations[classAnnotation]; found && ingress.Spec.IngressClassName != nil {
		errs = append(errs, field.Invalid(field.NewPath("annotations").Child(classAnnotation), value, "can not be set when the class field is also set"))
	}
	return append(errs, validateIngressSpec(&ingress.Spec)...)
}

// ValidateIngressUpdate validates an update.
func ValidateIngressUpdate(ingress, old *networkingv1.Ingress) field.ErrorList {
	return append(checks.ObjectMetaUpdate(&ingress.ObjectMeta, &old.ObjectMeta), validateIngressSpec(&ingress.Spec)...)
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

func validateIngressSpec(s *networkingv1.IngressSpec) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if len(s.Rules) == 0 && s.DefaultBackend == nil {
		errs = append(errs, field.Invalid(path, s.Rules, "either `defaultBackend` or `rules` must be specified"))
	}
	if s.DefaultBackend != nil {
		errs = append(errs, validateBackend(s.DefaultBackend, path.Child("defaultBackend"))...)
	}
	for i, rule := range s.Rules {
		itemPath := path.Child("rules").Index(i)
		if rule.Host != "" {
			errs = append(errs, validateHost(rule.Host, itemPath.Child("host"))...)
		}
		if rule.HTTP != nil {
			errs = append(errs, validateIngressPaths(rule.HTTP.Paths, itemPath.Child("http", "paths"))...)
		}
	}
	for i, tls := range s.TLS {
		for j, name := range tls.Hosts {
			errs = append(errs, validateHost(name, path.Child("tls").Index(i).Child("hosts").Index(j))...)
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

// validateHost requires a DNS name, of which the first label may be a wildcard.
func validateHost(name string, path *field.Path) field.ErrorList {
	if net.ParseIP(name) != nil {
		return field.ErrorList{field.Invalid(path, name, "must be a DNS name, not an IP address")}
	}
	if strings.Contains(name, "*") {
		return checks.InvalidEach(path, name, validation.IsWildcardDNS1123Subdomain(name))
	}
	return checks.DNSSubdomain(name, path)
}

func validateIngressPaths(paths []networkingv1.HTTPIngressPath, path *field.Path) (errs field.ErrorList) {
	if len(paths) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	for i := range paths {
		p, itemPath := &paths[i], path.Index(i)
		errs = append(errs, validateBackend(&p.Backend, itemPath.Child("backend"))...)
		if p.PathType == nil {
			errs = append(errs, field.Required(itemPath.Child("pathType"), "pathType must be specified"))
			continue
		}
		switch *p.PathType {
		case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
			errs = append(errs, validateAbsolutePath(p.Path, itemPath.Child("path"))...)
		case networkingv1.PathTypeImplementationSpecific:
			if p.Path != "" && !strings.HasPrefix(p.Path, "/") {
				errs = append(errs, field.Invalid(itemPath.Child("path"), p.Path, "must be an absolute path"))
			}
		default:
			errs = append(errs, checks.OneOf(*p.PathType, itemPath.Child("pathType"), networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix)...)
		}
	}
	return errs
}

func validateAbsolutePath(urlPath string, path *field.Path) (errs field.ErrorList) {
	if !strings.HasPrefix(urlPath, "/") {
		return field.ErrorList{field.Invalid(path, urlPath, "must be an absolute path")}
	}
	for _, sequence := range []string{"//", "/./", "/../", "%2f", "%2F"} {
		if strings.Contains(urlPath, sequence) {
			errs = append(errs, field.Invalid(path, urlPath, "must not contain '"+sequence+"'"))
		}
	}
	for _, suffix := range []string{"/..", "/."} {
		if strings.HasSuffix(urlPath, suffix) {
			errs = append(errs, field.Invalid(path, urlPath, "cannot end with '"+suffix+"'"))
		}
	}
	return errs
}

func validateBackend(b *networkingv1.IngressBackend, path *field.Path) field.ErrorList {
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
		servicePath, portPath := path.Child("service"), path.Child("service", "port")
		if b.Service.Name == "" {
			errs = append(errs, field.Required(servicePath.Child("name"), ""))
		} else {
			errs = append(errs, checks.InvalidEach(servicePath.Child("name"), b.Service.Name, apivalidation.NameIsDNS1035Label(b.Service.Name, false))...)
		}
		switch p := b.Service.Port; {
		case p.Name == "" && p.Number == 0:
			errs = append(errs, field.Required(portPath, "port name or number is required"))
		case p.Name != "" && p.Number != 0:
			errs = append(errs, field.Invalid(servicePath, "", "cannot set both port name & port number"))
		case p.Name != "":
			errs = append(errs, checks.InvalidEach(portPath.Child("name"), p.Name, validation.IsValidPortName(p.Name))...)
		default:
			errs = append(errs, checks.PortNumber(p.Number, portPath.Child("number"))...)
		}
	}
	return errs
}
