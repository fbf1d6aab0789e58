package dns

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

const (
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "berth"
	sliceName      = "kube-dns-berth"
	sliceManager   = "dns.berth.dev"
)

// OtherServerError reports that the cluster has another DNS server.
type OtherServerError struct{ ClusterIP string }

// Error implements error.
func (e *OtherServerError) Error() string {
	return fmt.Sprintf("service %s/%s exists and is not managed by Berth: the cluster has another DNS server", serviceNamespace, ServiceName)
}

// Register creates the server's Service with the given cluster IP unless it exists. It replaces a
// Service with another cluster IP. It returns an *OtherServerError if the Service belongs to another DNS
// server.
func Register(ctx context.Context, client kubernetes.Interface, ip netip.Addr) error {
	services := client.CoreV1().Services(serviceNamespace)
	existing, err := services.Get(ctx, ServiceName, metav1.GetOptions{})
	switch {
	case err == nil && existing.Labels[managedByLabel] != managedBy:
		return &OtherServerError{existing.Spec.ClusterIP}
	case err == nil && existing.Spec.ClusterIP == ip.String():
		return nil
	case err == nil: // the range of cluster IPs has changed
		if err := services.Delete(ctx, ServiceName, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("replacing service %s/%s: %w", serviceNamespace, ServiceName, err)
		}
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading service %s/%s: %w", serviceNamespace, ServiceName, err)
	}
	if _, err := services.Create(ctx, newService(ip), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating service %s/%s with cluster IP %s: %w", serviceNamespace, ServiceName, ip, err)
	}
	return nil
}

// newService returns the Service. It has the labels by which tools find the cluster's DNS.
func newService(ip netip.Addr) *corev1.Service {
	port := func(name string, protocol corev1.Protocol) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Protocol: protocol, Port: 53, TargetPort: intstr.FromInt32(preferredPort)}
	}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: ServiceName, Namespace: serviceNamespace,
			Labels: map[string]string{managedByLabel: managedBy, "k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: ip.String(),
			Ports: []corev1.ServicePort{port("dns", corev1.ProtocolUDP), port("dns-tcp", corev1.ProtocolTCP)}},
	}
}

// Publish makes an address the only endpoint of the Service.
func Publish(ctx context.Context, client kubernetes.Interface, address netip.AddrPort) error {
	slices := client.DiscoveryV1().EndpointSlices(serviceNamespace)
	desired := newSlice(address)
	existing, err := slices.Get(ctx, sliceName, metav1.GetOptions{})
	if err == nil && existing.AddressType != desired.AddressType { // immutable
		if err := slices.Delete(ctx, sliceName, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("replacing endpointslice %s/%s: %w", serviceNamespace, sliceName, err)
		}
		existing, err = nil, apierrors.NewNotFound(discoveryv1.Resource("endpointslices"), sliceName)
	}
	switch {
	case err == nil:
		desired.ResourceVersion = existing.ResourceVersion
		_, err = slices.Update(ctx, desired, metav1.UpdateOptions{})
	case apierrors.IsNotFound(err):
		_, err = slices.Create(ctx, desired, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("publishing cluster DNS at %s in endpointslice %s/%s: %w", address, serviceNamespace, sliceName, err)
	}
	return nil
}

func newSlice(address netip.AddrPort) *discoveryv1.EndpointSlice {
	family := discoveryv1.AddressTypeIPv4
	if address.Addr().Is6() {
		family = discoveryv1.AddressTypeIPv6
	}
	port := func(name string, protocol corev1.Protocol) discoveryv1.EndpointPort {
		number := int32(address.Port())
		return discoveryv1.EndpointPort{Name: &name, Protocol: &protocol, Port: &number}
	}
	ready := true
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: sliceName, Namespace: serviceNamespace,
			Labels: map[string]string{discoveryv1.LabelServiceName: ServiceName, discoveryv1.LabelManagedBy: sliceManager}},
		AddressType: family,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address.Addr().String()}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports:       []discoveryv1.EndpointPort{port("dns", corev1.ProtocolUDP), port("dns-tcp", corev1.ProtocolTCP)},
	}
}

// Unregister removes the Service and its endpoint if Berth manages them.
func Unregister(ctx context.Context, client kubernetes.Interface) error {
	services := client.CoreV1().Services(serviceNamespace)
	existing, err := services.Get(ctx, ServiceName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && existing.Labels[managedByLabel] != managedBy {
		return nil
	}
	if err == nil {
		err = services.Delete(ctx, ServiceName, metav1.DeleteOptions{})
	}
	if err == nil || apierrors.IsNotFound(err) {
		err = client.DiscoveryV1().EndpointSlices(serviceNamespace).Delete(ctx, sliceName, metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("removing service %s/%s: %w", serviceNamespace, ServiceName, err)
	}
	return nil
}

// machineAddress returns the address under which other machines and pods reach this one. It is the
// source of outgoing traffic or, without a route, the first address of a network device, IPv4
// first. ok is false if the machine has only loopback and link-local addresses.
func machineAddress() (a netip.Addr, ok bool) {
	if c, err := net.Dial("udp", "192.0.2.1:9"); err == nil { // UDP: no packet is sent
		a := c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
		_ = c.Close()
		if isEndpointAddress(a) {
			return a, true
		}
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, false
	}
	for _, ip4 := range []bool{true, false} {
		for _, addr := range addrs {
			if p, err := netip.ParsePrefix(addr.String()); err == nil && isEndpointAddress(p.Addr()) && p.Addr().Is4() == ip4 {
				return p.Addr(), true
			}
		}
	}
	return netip.Addr{}, false
}

// isEndpointAddress reports whether an endpoint may have the address.
func isEndpointAddress(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsLoopback() && !a.IsLinkLocalUnicast()
}
