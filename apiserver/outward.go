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

	"github.com/berthproject/berth/apiserver/connect"
	"github.com/berthproject/berth/apiserver/reach"
	"github.com/berthproject/berth/apiserver/usage"
)

// outward is what leads to agents and pods: subresources of the core group, and
// metrics.k8s.io.
func (s *Server) outward(made *storages) map[schema.GroupVersion]map[string]rest.Storage {
	nodes, pods := made.store(corev1.Resource("nodes")), made.store(corev1.Resource("pods"))
	agents := reach.New(s.authority, nodeIn(nodes))
	streams := connect.Streams{Pods: connect.Pods{Store: pods}, Agents: agents, Authorizer: s.security.Authorizer}
	used := usage.New(agents, nodes, pods)
	return map[schema.GroupVersion]map[string]rest.Storage{metricsv1beta1.SchemeGroupVersion: {
		"nodes": used.Nodes(),
		"pods":  used.Pods(),
	}, corev1.SchemeGroupVersion: {
		"pods/log":         &connect.Log{Pods: streams.Pods, Agents: agents},
		"pods/exec":        streams.Exec(),
		"pods/attach":      streams.Attach(),
		"pods/portforward": streams.PortForward(),
		"pods/proxy":       connect.PodProxy(streams),
		"nodes/proxy":      connect.NodeProxy(streams),
		"services/proxy":   connect.ServiceProxy(streams, made.store(corev1.Resource("services")), made.store(discoveryv1.Resource("endpointslices"))),
	}}
}

// nodeIn finds nodes in their store.
func nodeIn(store *registry.Store) func(context.Context, string) (*corev1.Node, error) {
	return func(ctx context.Context, name string) (*corev1.Node, error) {
		obj, err := store.Get(ctx, name, &metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		node, ok := obj.(*corev1.Node)
		if !ok {
			return nil, fmt.Errorf("want a Node called %s, have %T", name, obj)
		}
		return node, nil
	}
}
