package dns

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
)

// TestPortsOfSeveralSlices checks that addresses of one EndpointSlice do not share the ports that other
// slices add.
func TestPortsOfSeveralSlices(t *testing.T) {
	const namespace, service = "shop", "db"
	tcp := corev1.ProtocolTCP
	slice := func(name string, addresses []string, ports ...int32) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{}}
		for _, address := range addresses {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
		}
		for _, number := range ports {
			portName := fmt.Sprint("p", number)
			s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &portName, Protocol: &tcp, Port: &number})
		}
		return s
	}
	// Three ports leave capacity for a fourth.
	client := fake.NewClientset([]runtime.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service}, Spec: corev1.ServiceSpec{ClusterIP: "None", ClusterIPs: []string{"None"}}},
		slice("a", []string{"10.1.0.1", "10.1.0.2"}, 1, 2, 3), slice("b", []string{"10.1.0.1"}, 4), slice("c", []string{"10.1.0.2"}, 5),
	}...)
	s, err := NewServer(t.Context(), Options{Client: client, Domain: "cluster.local", ResolvConf: "/nonexistent", Log: klog.Background()})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]uint16{"10.1.0.1": {1, 2, 3, 4}, "10.1.0.2": {1, 2, 3, 5}}
	for range 50 { // the order of the slices varies
		for _, endpoint := range s.handler.zone.endpoints(namespace, service) {
			var got []uint16
			for _, p := range endpoint.ports {
				got = append(got, p.number)
			}
			slices.Sort(got)
			if want := want[endpoint.address.String()]; !slices.Equal(got, want) {
				t.Fatalf("%s has ports %v, want %v", endpoint.address, got, want)
			}
		}
	}
}
