package reconciler

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// Factory supplies informers over an actor's cache. Their event handlers run when a watch delivers a change.
type Factory struct {
	informers.SharedInformerFactory
	client    *sim.Client
	informers map[store.Kind]*informer
}

func newFactory(c *sim.Client) *Factory {
	return &Factory{client: c, informers: map[store.Kind]*informer{}}
}

// Core implements informers.SharedInformerFactory.
func (f *Factory) Core() core.Interface { return core.New(f, "", nil) }

// Apps implements informers.SharedInformerFactory.
func (f *Factory) Apps() apps.Interface { return apps.New(f, "", nil) }

// InformerFor implements informers.SharedInformerFactory.
func (f *Factory) InformerFor(o runtime.Object, _ internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	return f.Informer(store.KindOf(o))
}

// Informer returns the informer of a kind, which must be one of the actor's.
func (f *Factory) Informer(k store.Kind) cache.SharedIndexInformer {
	i := f.informers[k]
	if i == nil {
		i = newInformer(f.client, k)
		f.informers[k] = i
	}
	return i
}

// change updates the informer of a kind, if a controller uses it.
func (f *Factory) change(k store.Kind, old, current store.Object) {
	if i := f.informers[k]; i != nil {
		i.change(old, current)
	}
}

// informer implements cache.SharedIndexInformer as far as controllers use it.
type informer struct {
	cache.SharedIndexInformer
	client   *sim.Client
	indexer  *indexer
	handlers []cache.ResourceEventHandler
}

func newInformer(c *sim.Client, k store.Kind) *informer {
	return &informer{client: c, indexer: newIndexer(c, k)}
}

// change updates the indexes and calls the event handlers.
func (i *informer) change(old, current store.Object) {
	i.indexer.change(old, current)
	for _, h := range i.handlers {
		switch {
		case old == nil:
			h.OnAdd(current, false)
		case current == nil:
			h.OnDelete(old)
		default:
			h.OnUpdate(old, current)
		}
	}
}

// AddEventHandler implements cache.SharedInformer. Handlers must be added before the first change.
func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, h)
	return nil, nil
}

// HasSynced implements cache.SharedInformer.
func (i *informer) HasSynced() bool { return i.client.IsSynced() }

// GetIndexer implements cache.SharedIndexInformer.
func (i *informer) GetIndexer() cache.Indexer { return i.indexer }

// AddIndexers implements cache.SharedIndexInformer.
func (i *informer) AddIndexers(added cache.Indexers) error {
	i.indexer.add(added)
	return nil
}
