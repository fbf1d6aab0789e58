package agent

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// watch follows our nodes and the pods that are bound to them: all of both when there are
// many nodes, just its own when there is one, which is what a node's credential may see.
func (a *Agent) watch(ctx context.Context, wg *sync.WaitGroup) (pods, nodes cache.SharedIndexInformer, err error) {
	bound, named := fields.OneTermNotEqualSelector("spec.nodeName", ""), fields.Everything()
	if len(a.nodes) == 1 {
		for name := range a.nodes {
			bound, named = fields.OneTermEqualSelector("spec.nodeName", name), fields.OneTermEqualSelector("metadata.name", name)
		}
	}
	pods, err = a.follow(ctx, wg, bound, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Pods().Informer()
	},
		cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { a.see(ctx, obj) },
			UpdateFunc: func(_, obj any) { a.see(ctx, obj) },
			DeleteFunc: func(obj any) { a.unsee(ctx, obj) },
		})
	if err != nil {
		return nil, nil, err
	}
	nodes, err = a.follow(ctx, wg, named, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Nodes().Informer()
	},
		cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { a.seeNode(ctx, obj) },
			UpdateFunc: func(_, obj any) { a.seeNode(ctx, obj) },
		})
	return pods, nodes, err
}

// follow watches what a selector selects.
func (a *Agent) follow(ctx context.Context, wg *sync.WaitGroup, s fields.Selector, of func(informers.SharedInformerFactory) cache.SharedIndexInformer,
	handler cache.ResourceEventHandler) (cache.SharedIndexInformer, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(a.opts.Client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = s.String() }),
		informers.WithTransform(slim))
	informer := of(factory)
	if _, err := informer.AddEventHandler(handler); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	wg.Go(func() { <-ctx.Done(); factory.Shutdown() })
	return informer, nil
}

// slim drops what the agent does not read.
func slim(obj any) (any, error) {
	switch o := obj.(type) {
	case *corev1.Pod:
		o.ManagedFields = nil
	case *corev1.Node:
		o.ManagedFields = nil
		o.Status = corev1.NodeStatus{Capacity: o.Status.Capacity, Allocatable: o.Status.Allocatable}
	}
	return obj, nil
}

func (a *Agent) see(ctx context.Context, obj any) {
	p, ok := obj.(*corev1.Pod)
	if !ok || a.nodes[p.Spec.NodeName] == nil {
		return
	}
	select {
	case a.seen <- p:
	case <-ctx.Done():
	}
}

func (a *Agent) unsee(ctx context.Context, obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	p, ok := obj.(*corev1.Pod)
	if !ok || a.nodes[p.Spec.NodeName] == nil {
		return
	}
	select {
	case a.removed <- p.UID:
	case <-ctx.Done():
	}
}

func (a *Agent) seeNode(ctx context.Context, obj any) {
	n, ok := obj.(*corev1.Node)
	if !ok || a.nodes[n.Name] == nil {
		return
	}
	select {
	case a.nodesSeen <- n:
	case <-ctx.Done():
	}
}
