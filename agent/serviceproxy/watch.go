//go:build linux

package serviceproxy

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

const (
	// serviceIndex indexes EndpointSlices by the key of their Service.
	serviceIndex = "service"
	// proxyNameLabel assigns a Service to another proxy.
	proxyNameLabel = "service.kubernetes.io/service-proxy-name"
)

// watch starts the informers and waits until they have synced.
func (p *Proxy) watch(ctx context.Context) error {
	withoutManagedFields := informers.WithTransform(func(o any) (any, error) {
		if a, err := meta.Accessor(o); err == nil {
			a.SetManagedFields(nil)
		}
		return o, nil
	})
	// Services and slices of headless Services have this label and no cluster IP.
	noHeadless := informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "!" + corev1.IsHeadlessService })
	factory := informers.NewSharedInformerFactoryWithOptions(p.opts.Client, 0, withoutManagedFields, noHeadless)
	nodeFactory := informers.NewSharedInformerFactoryWithOptions(p.opts.Client, 0, withoutManagedFields, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		if len(p.opts.Nodes) == 1 { // a node's credential may read its own Node only
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, p.opts.Nodes[0]).String()
		}
	}))
	services, slices, nodes := factory.Core().V1().Services().Informer(), factory.Discovery().V1().EndpointSlices().Informer(), nodeFactory.Core().V1().Nodes().Informer()
	if err := slices.AddIndexers(cache.Indexers{serviceIndex: indexSlice}); err != nil {
		return fmt.Errorf("service proxy: indexing EndpointSlices: %w", err)
	}
	p.services, p.slices, p.nodes = services.GetIndexer(), slices.GetIndexer(), nodes.GetIndexer()
	for informer, notify := range map[cache.SharedIndexInformer]func(any){
		services: p.onService, slices: p.onSlice, nodes: func(any) { p.markNodesChanged() },
	} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: notify, UpdateFunc: func(old, now any) { notify(old); notify(now) }, DeleteFunc: notify}); err != nil {
			return fmt.Errorf("service proxy: adding an event handler: %w", err)
		}
	}
	factory.Start(ctx.Done())
	nodeFactory.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), services.HasSynced, slices.HasSynced, nodes.HasSynced)
	return nil
}

func (p *Proxy) onService(object any) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
		p.markDirty(key)
	}
}

func (p *Proxy) onSlice(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	keys, _ := indexSlice(object)
	for _, key := range keys {
		p.markDirty(key)
	}
}

// indexSlice returns the key of a slice's Service.
func indexSlice(object any) ([]string, error) {
	s, ok := object.(*discoveryv1.EndpointSlice)
	if !ok || s.Labels[discoveryv1.LabelServiceName] == "" {
		return nil, nil
	}
	return []string{s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]}, nil
}
