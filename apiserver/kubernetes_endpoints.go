package apiserver

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/engine/order"
)

const (
	// apiServerPool is the pool in which API servers announce IP:PORT.
	apiServerPool = "apiservers"
	// apiServerTTL is how long the endpoint of an API server remains after a crash.
	apiServerTTL = 15 * time.Second
	// withdrawTimeout bounds how long the removal of the endpoint delays the shutdown.
	withdrawTimeout = 2 * time.Second
)

// announcer is the part of store.Backend that kubernetesEndpoints uses.
type announcer interface {
	Announce(ctx context.Context, pool, value string, ttl time.Duration) error
	Withdraw(ctx context.Context, pool, value string) error
	Announced(ctx context.Context, pool string) ([]string, error)
}

// kubernetesEndpoints maintains Endpoints and EndpointSlices of the Service default/kubernetes:
// one address for each API server that shares the etcd. Servers with different ports are in
// different subsets and slices.
type kubernetesEndpoints struct {
	announcer announcer
	client    kubernetes.Interface
	address   netip.AddrPort // of this server; nothing is announced if it is invalid

	mu        sync.Mutex
	withdrawn bool
}

// run reconciles until ctx is done.
func (k *kubernetesEndpoints) run(ctx context.Context) {
	_ = wait.PollUntilContextCancel(ctx, kubernetesServiceInterval, true, func(ctx context.Context) (bool, error) {
		if err := k.reconcile(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to reconcile the endpoints of the Service default/kubernetes; retrying", "interval", kubernetesServiceInterval)
		}
		return false, nil
	})
}

// reconcile announces this server and writes the endpoints of all servers.
func (k *kubernetesEndpoints) reconcile(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.withdrawn {
		return nil
	}
	if k.address.IsValid() {
		if err := k.announcer.Announce(ctx, apiServerPool, k.address.String(), apiServerTTL); err != nil {
			return err
		}
	}
	return k.write(ctx)
}

// withdraw removes the endpoint of this server, which is about to stop.
func (k *kubernetesEndpoints) withdraw() error {
	ctx, cancel := context.WithTimeout(context.Background(), withdrawTimeout)
	defer cancel()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.withdrawn = true
	if !k.address.IsValid() {
		return nil
	}
	if err := k.announcer.Withdraw(ctx, apiServerPool, k.address.String()); err != nil {
		return err
	}
	return k.write(ctx)
}

func (k *kubernetesEndpoints) write(ctx context.Context) error {
	values, err := k.announcer.Announced(ctx, apiServerPool)
	if err != nil {
		return err
	}
	var servers []netip.AddrPort
	for _, v := range values {
		if s, err := netip.ParseAddrPort(v); err == nil {
			servers = append(servers, s)
		}
	}
	groups := groupServers(servers)
	if err := k.writeEndpoints(ctx, groups); err != nil {
		return fmt.Errorf("writing endpoints default/kubernetes: %w", err)
	}
	if err := k.writeSlices(ctx, groups); err != nil {
		return fmt.Errorf("writing endpoint slices of service default/kubernetes: %w", err)
	}
	return nil
}

// serverGroup is the set of API servers with the same port and address family.
type serverGroup struct {
	port      int32
	family    discoveryv1.AddressType
	addresses []string // sorted
}

// groupServers groups servers, in the order of families and ports.
func groupServers(servers []netip.AddrPort) (groups []serverGroup) {
	slices.SortFunc(servers, func(a, b netip.AddrPort) int {
		return cmp.Or(order.TrueFirst(a.Addr().Is4(), b.Addr().Is4()), cmp.Compare(a.Port(), b.Port()), a.Addr().Compare(b.Addr()))
	})
	for _, s := range servers {
		family := discoveryv1.AddressTypeIPv4
		if s.Addr().Is6() {
			family = discoveryv1.AddressTypeIPv6
		}
		if n := len(groups); n == 0 || groups[n-1].port != int32(s.Port()) || groups[n-1].family != family {
			groups = append(groups, serverGroup{port: int32(s.Port()), family: family})
		}
		last := &groups[len(groups)-1]
		last.addresses = append(last.addresses, s.Addr().String())
	}
	return groups
}

// writeEndpoints creates, updates or deletes the Endpoints.
func (k *kubernetesEndpoints) writeEndpoints(ctx context.Context, groups []serverGroup) error {
	client := k.client.CoreV1().Endpoints(metav1.NamespaceDefault)
	desired := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{
		Name: "kubernetes", Namespace: metav1.NamespaceDefault, Labels: map[string]string{discoveryv1.LabelSkipMirror: "true"}}}
	for _, g := range groups {
		s := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: "https", Port: g.port, Protocol: corev1.ProtocolTCP}}}
		for _, ip := range g.addresses {
			s.Addresses = append(s.Addresses, corev1.EndpointAddress{IP: ip})
		}
		desired.Subsets = append(desired.Subsets, s)
	}
	existing, err := client.Get(ctx, desired.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && len(groups) > 0:
		_, err = client.Create(ctx, desired, metav1.CreateOptions{})
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
	case len(groups) == 0:
		err = client.Delete(ctx, desired.Name, metav1.DeleteOptions{})
	case !equality.Semantic.DeepEqual(existing.Subsets, desired.Subsets) || existing.Labels[discoveryv1.LabelSkipMirror] != "true":
		desired.ObjectMeta = *existing.ObjectMeta.DeepCopy()
		metav1.SetMetaDataLabel(&desired.ObjectMeta, discoveryv1.LabelSkipMirror, "true")
		_, err = client.Update(ctx, desired, metav1.UpdateOptions{})
	}
	return err
}

// newSlices returns an EndpointSlice for each group. The first has the name of the Service, as
// with kube-apiserver.
func newSlices(groups []serverGroup) map[string]*discoveryv1.EndpointSlice {
	out := map[string]*discoveryv1.EndpointSlice{}
	for i, g := range groups {
		s := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Name: "kubernetes", Namespace: metav1.NamespaceDefault, Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"}},
			AddressType: g.family,
			Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: &g.port, Protocol: ptr.To(corev1.ProtocolTCP)}},
		}
		if i > 0 {
			s.Name = fmt.Sprintf("kubernetes-%d", i)
		}
		for _, ip := range g.addresses {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}})
		}
		out[s.Name] = s
	}
	return out
}

// writeSlices creates, updates and deletes the EndpointSlices.
func (k *kubernetesEndpoints) writeSlices(ctx context.Context, groups []serverGroup) error {
	client := k.client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault)
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=kubernetes"})
	if err != nil {
		return err
	}
	desired := newSlices(groups)
	for i := range list.Items {
		existing := &list.Items[i]
		desiredSlice := desired[existing.Name]
		if desiredSlice == nil || desiredSlice.AddressType != existing.AddressType { // the address type is immutable
			if err := client.Delete(ctx, existing.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			continue
		}
		delete(desired, existing.Name)
		if equality.Semantic.DeepEqual(existing.Endpoints, desiredSlice.Endpoints) && equality.Semantic.DeepEqual(existing.Ports, desiredSlice.Ports) {
			continue
		}
		existing.Endpoints, existing.Ports = desiredSlice.Endpoints, desiredSlice.Ports
		if _, err := client.Update(ctx, existing, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	for _, s := range desired {
		if _, err := client.Create(ctx, s, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}
