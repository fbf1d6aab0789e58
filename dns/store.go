package dns

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Names of indexes.
const (
	byAddress = "address"
	byService = "service"
)

// store holds the objects from which the zone answers.
type store struct {
	services, slices, pods, namespaces, nodes cache.Indexer
}

// newStore starts informers and waits until they have synced or ctx is done.
func newStore(ctx context.Context, client kubernetes.Interface) (*store, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(strip))
	core, discovery := factory.Core().V1(), factory.Discovery().V1()
	services, slices, pods := core.Services().Informer(), discovery.EndpointSlices().Informer(), core.Pods().Informer()
	namespaces, nodes := core.Namespaces().Informer(), core.Nodes().Informer()
	for informer, index := range map[cache.SharedIndexInformer]cache.Indexers{
		services: {byAddress: serviceAddresses},
		slices:   {byAddress: sliceAddresses, byService: sliceService},
		pods:     {byAddress: podAddresses},
		nodes:    {byAddress: nodeAddresses},
	} {
		if err := informer.AddIndexers(index); err != nil {
			return nil, fmt.Errorf("cluster DNS: %w", err)
		}
	}
	factory.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), services.HasSynced, slices.HasSynced, pods.HasSynced, nodes.HasSynced, namespaces.HasSynced)
	return &store{services: services.GetIndexer(), slices: slices.GetIndexer(), pods: pods.GetIndexer(), namespaces: namespaces.GetIndexer(), nodes: nodes.GetIndexer()}, nil
}

// strip removes the fields that the zone does not read, so that large clusters need little memory.
func strip(object any) (any, error) {
	meta := func(m metav1.ObjectMeta) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, ResourceVersion: m.ResourceVersion, UID: m.UID}
	}
	switch o := object.(type) {
	case *corev1.Pod:
		return &corev1.Pod{ObjectMeta: meta(o.ObjectMeta), Status: corev1.PodStatus{PodIPs: o.Status.PodIPs, Phase: o.Status.Phase}}, nil
	case *corev1.Node:
		return &corev1.Node{ObjectMeta: meta(o.ObjectMeta), Status: corev1.NodeStatus{Addresses: o.Status.Addresses}}, nil
	case *corev1.Namespace:
		return &corev1.Namespace{ObjectMeta: meta(o.ObjectMeta)}, nil
	case *corev1.Service:
		return &corev1.Service{ObjectMeta: meta(o.ObjectMeta), Spec: o.Spec}, nil
	case *discoveryv1.EndpointSlice:
		o.ManagedFields, o.Annotations = nil, nil
	}
	return object, nil
}

func serviceAddresses(object any) ([]string, error) {
	s, ok := object.(*corev1.Service)
	if !ok {
		return nil, nil
	}
	return canonical(s.Spec.ClusterIPs...), nil
}

func sliceAddresses(object any) (out []string, err error) {
	s, ok := object.(*discoveryv1.EndpointSlice)
	if !ok || s.Labels[discoveryv1.LabelServiceName] == "" {
		return nil, nil
	}
	for i := range s.Endpoints {
		out = append(out, canonical(s.Endpoints[i].Addresses...)...)
	}
	return out, nil
}

func sliceService(object any) ([]string, error) {
	s, ok := object.(*discoveryv1.EndpointSlice)
	if !ok || s.Labels[discoveryv1.LabelServiceName] == "" {
		return nil, nil
	}
	return []string{s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]}, nil
}

// podAddresses returns NAMESPACE/IP for the addresses of a pod that has not terminated.
func podAddresses(object any) (out []string, err error) {
	p, ok := object.(*corev1.Pod)
	if !ok || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return nil, nil
	}
	for _, ip := range p.Status.PodIPs {
		for _, a := range canonical(ip.IP) {
			out = append(out, p.Namespace+"/"+a)
		}
	}
	return out, nil
}

func nodeAddresses(object any) (out []string, err error) {
	n, ok := object.(*corev1.Node)
	if !ok {
		return nil, nil
	}
	for _, a := range n.Status.Addresses {
		out = append(out, canonical(a.Address)...)
	}
	return out, nil
}

// canonical returns the texts that are IP addresses, in their canonical form.
func canonical(texts ...string) (out []string) {
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, a.String())
		}
	}
	return out
}

// service returns a Service, or nil.
func (s *store) service(namespace, name string) *corev1.Service {
	object, exists, err := s.services.GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return nil
	}
	return object.(*corev1.Service)
}

func (s *store) slicesOf(namespace, name string) []*discoveryv1.EndpointSlice {
	return list[*discoveryv1.EndpointSlice](s.slices, byService, namespace+"/"+name)
}

func (s *store) hasNamespace(name string) bool {
	_, exists, err := s.namespaces.GetByKey(name)
	return err == nil && exists
}

// hasPod reports whether a pod of the namespace has the address.
func (s *store) hasPod(namespace string, a netip.Addr) bool {
	keys, err := s.pods.IndexKeys(byAddress, namespace+"/"+a.String())
	return err == nil && len(keys) > 0
}

// hasNode reports whether a node has the address.
func (s *store) hasNode(a netip.Addr) bool {
	keys, err := s.nodes.IndexKeys(byAddress, a.String())
	return err == nil && len(keys) > 0
}

// list returns the objects under a key of an index.
func list[T any](indexer cache.Indexer, index, key string) (out []T) {
	objects, err := indexer.ByIndex(index, key)
	if err != nil {
		return nil
	}
	for _, o := range objects {
		out = append(out, o.(T))
	}
	return out
}
