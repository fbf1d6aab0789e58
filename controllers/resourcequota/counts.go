package resourcequota

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/controllers/runner"
)

// listTimeout bounds the wait for the first list of a resource.
const listTimeout = 10 * time.Second

// counts watches the metadata of the resources that quotas count.
type counts struct {
	ctx      context.Context // ends the watches
	metadata metadata.Interface
	onChange func(namespace string)

	mu       sync.Mutex
	mapper   meta.ResettableRESTMapper
	monitors map[schema.GroupResource]*monitor
}

// monitor is the watch of one resource.
type monitor struct {
	lister cache.GenericLister
	synced cache.InformerSynced
}

func newCounts(ctx context.Context, d discovery.DiscoveryInterface, objects metadata.Interface, onChange func(string)) *counts {
	return &counts{ctx: ctx, metadata: objects, onChange: onChange, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d)),
		monitors: map[schema.GroupResource]*monitor{}}
}

// lister returns a synced lister of a resource, nil if the resource is not served. It waits for the first list.
func (c *counts) lister(ctx context.Context, resource schema.GroupResource) (cache.GenericLister, error) {
	m, err := c.monitor(resource)
	if m == nil || err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), m.synced) {
		return nil, fmt.Errorf("%s are not listed yet", resource)
	}
	return m.lister, nil
}

// monitor returns the watch of a resource, nil if the resource is not served. It starts the watch if there is none.
func (c *counts) monitor(resource schema.GroupResource) (*monitor, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.monitors[resource]; m != nil {
		return m, nil
	}
	served, err := c.mapper.ResourceFor(resource.WithVersion(""))
	if meta.IsNoMatchError(err) {
		c.mapper.Reset() // a custom resource definition may be created later
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("discovering %s: %w", resource, err)
	}
	informer := metadatainformer.NewFilteredMetadataInformer(c.metadata, served, metav1.NamespaceAll, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, nil)
	if err := informer.Informer().SetTransform(trimToName); err != nil {
		return nil, err
	}
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: c.onDeleted}); err != nil {
		return nil, err
	}
	runner.StartInformer(c.ctx, informer.Informer())
	c.monitors[resource] = &monitor{informer.Lister(), informer.Informer().HasSynced}
	return c.monitors[resource], nil
}

func (c *counts) onDeleted(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if m, err := meta.Accessor(obj); err == nil {
		c.onChange(m.GetNamespace())
	}
}

// trimToName removes the data that a count does not need.
func trimToName(obj any) (any, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return obj, nil // a tombstone
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(), ResourceVersion: m.GetResourceVersion()}}, nil
}
