package tables

import (
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func networkingTable(resource schema.GroupResource) (Table, bool) {
	switch resource {
	case networkingv1.Resource("ingresses"):
		return newTable(ingressRow, nameColumn(), stringColumn("Class", "Class of the Ingress."), stringColumn("Hosts", "Hosts of the rules."),
			stringColumn("Address", "Addresses of the load balancer."), stringColumn("Ports", "Ports of the load balancer."), ageColumn())
	case networkingv1.Resource("ingressclasses"):
		return newTable(ingressClassRow, nameColumn(), stringColumn("Controller", "Controller of the class."), stringColumn("Parameters", "Parameters of the controller."), ageColumn())
	case networkingv1.Resource("networkpolicies"):
		return newTable(func(p *networkingv1.NetworkPolicy) []any {
			return []any{p.Name, metav1.FormatLabelSelector(&p.Spec.PodSelector), age(&p.ObjectMeta)}
		}, nameColumn(), stringColumn("Pod-Selector", "Pods that the policy selects."), ageColumn())
	case networkingv1.Resource("servicecidrs"):
		return newTable(func(c *networkingv1.ServiceCIDR) []any {
			return []any{c.Name, strings.Join(c.Spec.CIDRs, ","), age(&c.ObjectMeta)}
		}, nameColumn(), stringColumn("CIDRs", "Ranges of cluster IPs."), ageColumn())
	case networkingv1.Resource("ipaddresses"):
		return newTable(func(a *networkingv1.IPAddress) []any {
			return []any{a.Name, parentCell(a.Spec.ParentRef), age(&a.ObjectMeta)}
		}, nameColumn(), stringColumn("ParentRef", "Object that uses the address."), ageColumn())
	}
	return Table{}, false
}

func ingressRow(i *networkingv1.Ingress) []any {
	var hosts, addresses []string
	for _, rule := range i.Spec.Rules {
		if rule.Host != "" {
			hosts = append(hosts, rule.Host)
		}
	}
	for _, in := range i.Status.LoadBalancer.Ingress {
		if address := firstNonEmpty(in.IP, in.Hostname); address != "" {
			addresses = append(addresses, address)
		}
	}
	ports := "80"
	if len(i.Spec.TLS) > 0 {
		ports = "80, 443"
	}
	cell := "*"
	if len(hosts) > 0 {
		cell = truncateList(hosts)
	}
	return []any{i.Name, deref(i.Spec.IngressClassName, "<none>"), cell, strings.Join(addresses, ","), ports, age(&i.ObjectMeta)}
}

func ingressClassRow(c *networkingv1.IngressClass) []any {
	parameters := "<none>"
	if p := c.Spec.Parameters; p != nil {
		parameters = p.Kind
		if group := deref(p.APIGroup, ""); group != "" {
			parameters += "." + group
		}
		parameters += "/" + p.Name
	}
	return []any{c.Name, c.Spec.Controller, parameters, age(&c.ObjectMeta)}
}

// parentCell returns RESOURCE.GROUP/NAMESPACE/NAME without the empty parts.
func parentCell(ref *networkingv1.ParentReference) string {
	if ref == nil {
		return "<none>"
	}
	resource := ref.Resource
	if ref.Group != "" {
		resource += "." + ref.Group
	}
	parts := slices.DeleteFunc([]string{resource, ref.Namespace, ref.Name}, func(part string) bool { return part == "" })
	return strings.Join(parts, "/")
}
