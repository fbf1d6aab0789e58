package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/berthproject/berth/sim/store"
)

// nodeLister lists the cached nodes.
type nodeLister struct {
	corelisters.NodeListerExpansion
	e *endpoints
}

func (n nodeLister) List(labels.Selector) (out []*corev1.Node, _ error) {
	for _, name := range slices.Sorted(maps.Keys(n.e.Cached(store.Nodes))) {
		out = append(out, n.e.Node(name))
	}
	return out, nil
}

func (n nodeLister) Get(name string) (*corev1.Node, error) {
	if node := n.e.Node(name); node != nil {
		return node, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
}

// sliceClient implements the part of the API that the reconciler uses.
type sliceClient struct {
	kubernetes.Interface
	discoveryclient.DiscoveryV1Interface
	discoveryclient.EndpointSliceInterface
	e *endpoints
}

func (c sliceClient) DiscoveryV1() discoveryclient.DiscoveryV1Interface { return c }

func (c sliceClient) EndpointSlices(string) discoveryclient.EndpointSliceInterface { return c }

func (c sliceClient) Create(_ context.Context, s *discoveryv1.EndpointSlice, _ metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	c.e.lastSuffix[s.GenerateName]++
	s = s.DeepCopy()
	s.Name, s.Generation = fmt.Sprintf("%s%d", s.GenerateName, c.e.lastSuffix[s.GenerateName]), 1
	err := c.e.w.API().Create(s)
	return s, err
}

func (c sliceClient) Update(_ context.Context, s *discoveryv1.EndpointSlice, _ metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	err := c.e.w.API().Update(store.EndpointSlices, store.KeyOf(s), store.Precondition{UID: string(s.UID), ResourceVersion: s.ResourceVersion}, func(o store.Object) error {
		if existing, ok := o.(*discoveryv1.EndpointSlice); ok {
			existing.Labels, existing.Annotations, existing.Endpoints, existing.Ports = s.Labels, s.Annotations, s.Endpoints, s.Ports
			existing.Generation++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	o, _ := c.e.w.API().Get(store.EndpointSlices, store.KeyOf(s))
	existing, _ := o.(*discoveryv1.EndpointSlice)
	return existing, nil
}

func (c sliceClient) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	for _, k := range slices.Sorted(maps.Keys(c.e.Cached(store.EndpointSlices))) {
		if _, last, _ := strings.Cut(k, "/"); last == name {
			return c.e.w.API().Delete(store.EndpointSlices, k, store.Precondition{})
		}
	}
	return nil
}
