package podproxy

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	streams "k8s.io/apiserver/pkg/util/proxy"
)

// ServiceProxy serves services/proxy: it proxies to a ready endpoint of NAME, NAME:PORT or
// SCHEME:NAME:PORT. The port is a name or a number.
func ServiceProxy(c Connector, services, endpointSlices *registry.Store) rest.Storage {
	transport := podTransport()
	return &proxyREST{func() runtime.Object { return &corev1.ServiceProxyOptions{} },
		func(o runtime.Object) string { return o.(*corev1.ServiceProxyOptions).Path },
		func(ctx context.Context, request string) (*url.URL, http.RoundTripper, error) {
			scheme, name, port, ok := utilnet.SplitSchemeNamePort(request)
			if !ok {
				return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("invalid service request %q: must be NAME, NAME:PORT or SCHEME:NAME:PORT", request))
			}
			obj, err := services.Get(ctx, name, &metav1.GetOptions{})
			if err != nil {
				return nil, nil, err
			}
			service := obj.(*corev1.Service)
			portName, err := servicePortName(service, port)
			if err != nil {
				return nil, nil, err
			}
			slices, err := endpointSlicesOf(ctx, endpointSlices, name)
			if err != nil {
				return nil, nil, err
			}
			var family corev1.IPFamily
			if len(service.Spec.IPFamilies) > 0 {
				family = service.Spec.IPFamilies[0]
			}
			host, err := streams.RandomEndpoint(name, slices, portName, family, func(e *discoveryv1.Endpoint) bool {
				return len(e.Addresses) > 0 && checkProxyAddress(e.Addresses[0]) == nil
			})
			if err != nil {
				return nil, nil, err
			}
			u := podURL(scheme, "", "")
			u.Host = host
			return u, transport, nil
		}, c.Authorizer}
}

// servicePortName returns the name of the requested port. The port may be empty if the service has
// only one port.
func servicePortName(service *corev1.Service, port string) (string, error) {
	for _, p := range service.Spec.Ports {
		if p.Name == port || strconv.Itoa(int(p.Port)) == port || port == "" && len(service.Spec.Ports) == 1 {
			return p.Name, nil
		}
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %q found for service %q", port, service.Name))
}

func endpointSlicesOf(ctx context.Context, store *registry.Store, service string) ([]*discoveryv1.EndpointSlice, error) {
	list, err := store.List(ctx, &internalversion.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service})})
	if err != nil {
		return nil, err
	}
	items := list.(*discoveryv1.EndpointSliceList).Items
	var slices []*discoveryv1.EndpointSlice
	for i := range items {
		slices = append(slices, &items[i])
	}
	return slices, nil
}
