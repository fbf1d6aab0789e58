package apiserver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/berthproject/berth/apiserver/metricsapi"
	"github.com/berthproject/berth/apiserver/nodeclient"
	"github.com/berthproject/berth/apiserver/podproxy"
)

// nodeBackedStorage returns the storage of resources that are served by node agents and pods: the
// proxying subresources of the core group, and metrics.k8s.io.
func (s *Server) nodeBackedStorage(storages *storageSet) map[schema.GroupVersion]map[string]rest.Storage {
	nodes, pods := storages.store(corev1.Resource("nodes")), storages.store(corev1.Resource("pods"))
	agents := nodeclient.New(s.authority, nodeGetter(nodes))
	streams := podproxy.Connector{Pods: podproxy.PodGetter{Store: pods}, Nodes: agents, Authorizer: s.security.Authorizer}
	metrics := metricsapi.New(agents, nodes, pods)
	return map[schema.GroupVersion]map[string]rest.Storage{metricsv1beta1.SchemeGroupVersion: {
		"nodes": metrics.Nodes(),
		"pods":  metrics.Pods(),
	}, corev1.SchemeGroupVersion: {
		"pods/log":         &podproxy.LogREST{Pods: streams.Pods, Nodes: agents},
		"pods/exec":        streams.Exec(),
		"pods/attach":      streams.Attach(),
		"pods/portforward": streams.PortForward(),
		"pods/proxy":       podproxy.PodProxy(streams),
		"nodes/proxy":      podproxy.NodeProxy(streams),
		"services/proxy":   podproxy.ServiceProxy(streams, storages.store(corev1.Resource("services")), storages.store(discoveryv1.Resource("endpointslices"))),
	}}
}

// nodeGetter returns a function that reads nodes from their store.
func nodeGetter(store *registry.Store) func(context.Context, string) (*corev1.Node, error) {
	return func(ctx context.Context, name string) (*corev1.Node, error) {
		obj, err := store.Get(ctx, name, &metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		node, ok := obj.(*corev1.Node)
		if !ok {
			return nil, fmt.Errorf("want a Node named %s, got %T", name, obj)
		}
		return node, nil
	}
}
