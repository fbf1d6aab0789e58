package tables

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxShownItems is the number of shown list items before "+ n more...".
const maxShownItems = 3

func networkTable(resource schema.GroupResource) (Table, bool) {
	switch resource {
	case corev1.Resource("services"):
		return newTable(serviceRow, nameColumn(), stringColumn("Type", "Type of the service."), stringColumn("Cluster-IP", "Cluster IP of the service."),
			stringColumn("External-IP", "External addresses of the service."), stringColumn("Port(s)", "Ports and node ports."), ageColumn(),
			wide(stringColumn("Selector", "Selector of the pods.")))
	case corev1.Resource("endpoints"):
		return newTable(func(e *corev1.Endpoints) []any { return []any{e.Name, endpointsCell(e), age(&e.ObjectMeta)} }, //nolint:staticcheck // the deprecated API is still served
			nameColumn(), stringColumn("Endpoints", "Addresses and ports."), ageColumn())
	case discoveryv1.Resource("endpointslices"):
		return newTable(sliceRow, nameColumn(), stringColumn("AddressType", "Type of the addresses."), stringColumn("Ports", "Ports of each endpoint."),
			stringColumn("Endpoints", "Addresses."), ageColumn())
	}
	return Table{}, false
}

func serviceRow(s *corev1.Service) []any {
	clusterIP := "<none>"
	if len(s.Spec.ClusterIPs) > 0 {
		clusterIP = s.Spec.ClusterIPs[0]
	}
	var ports []string
	for _, p := range s.Spec.Ports {
		cell := fmt.Sprintf("%d/%s", p.Port, p.Protocol)
		if p.NodePort > 0 {
			cell = fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol)
		}
		ports = append(ports, cell)
	}
	return []any{s.Name, string(s.Spec.Type), clusterIP, externalIP(s), orNone(strings.Join(ports, ",")), age(&s.ObjectMeta), labels.FormatLabels(s.Spec.Selector)}
}

func externalIP(s *corev1.Service) string {
	switch s.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return orNone(strings.Join(s.Spec.ExternalIPs, ","))
	case corev1.ServiceTypeLoadBalancer:
		var list []string
		for _, in := range s.Status.LoadBalancer.Ingress {
			if address := firstNonEmpty(in.IP, in.Hostname); address != "" {
				list = append(list, address)
			}
		}
		list = append(list, s.Spec.ExternalIPs...)
		if len(list) == 0 {
			return "<pending>"
		}
		return strings.Join(list, ",")
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	}
	return "<unknown>"
}

func endpointsCell(e *corev1.Endpoints) string { //nolint:staticcheck // the deprecated API is still served
	if len(e.Subsets) == 0 {
		return "<none>"
	}
	var list []string
	for _, subset := range e.Subsets {
		if len(subset.Ports) == 0 {
			for _, a := range subset.Addresses {
				list = append(list, a.IP)
			}
		}
		for _, p := range subset.Ports {
			for _, a := range subset.Addresses {
				list = append(list, net.JoinHostPort(a.IP, strconv.Itoa(int(p.Port))))
			}
		}
	}
	return truncateList(list)
}

// truncateList joins the first items of a list and appends the number of the others.
func truncateList(list []string) string {
	if len(list) <= maxShownItems {
		return strings.Join(list, ",")
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(list[:maxShownItems], ","), len(list)-maxShownItems)
}

func sliceRow(s *discoveryv1.EndpointSlice) []any {
	var ports, addresses []string
	for _, p := range s.Ports {
		port := "*"
		switch {
		case p.Port != nil:
			port = strconv.Itoa(int(*p.Port))
		case p.Name != nil:
			port = *p.Name
		}
		ports = append(ports, port)
	}
	for _, e := range s.Endpoints {
		addresses = append(addresses, e.Addresses...)
	}
	cell := func(list []string) string {
		if shown := truncateList(list); shown != "" {
			return shown
		}
		return "<unset>"
	}
	return []any{s.Name, string(s.AddressType), cell(ports), cell(addresses), age(&s.ObjectMeta)}
}
