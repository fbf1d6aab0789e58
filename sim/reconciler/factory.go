package reconciler

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/coordination"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/discovery"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// Factory supplies informers. Their event handlers run when a change is delivered.
type Factory struct {
	informers.SharedInformerFactory
	kinds     []store.Kind // the kinds that are delivered
	informers map[store.Kind]*informer
	// cached returns the objects of a kind that were delivered already, sorted; nil before the first delivery.
	cached func(store.Kind) []store.Object
}

func newFactory(kinds []store.Kind) *Factory {
	return &Factory{kinds: kinds, informers: map[store.Kind]*informer{}}
}

// NewAPIFactory returns a factory whose informers show the objects of the API server without lag. It must be called
// before the first commit.
func NewAPIFactory(w *sim.World, kinds ...store.Kind) *Factory {
	f := newFactory(kinds)
	w.OnCommit(func(c store.Change) { f.change(c.Kind, c.Old, c.New) })
	return f
}

// Ignore makes the informer of a kind that is not delivered available; it stays empty.
func (f *Factory) Ignore(k store.Kind) { f.kinds = append(slices.Clip(f.kinds), k) }

// Core implements informers.SharedInformerFactory.
func (f *Factory) Core() core.Interface { return core.New(f, "", nil) }

// Apps implements informers.SharedInformerFactory.
func (f *Factory) Apps() apps.Interface { return apps.New(f, "", nil) }

// Coordination implements informers.SharedInformerFactory.
func (f *Factory) Coordination() coordination.Interface { return coordination.New(f, "", nil) }

// Discovery implements informers.SharedInformerFactory.
func (f *Factory) Discovery() discovery.Interface { return discovery.New(f, "", nil) }

// Policy implements informers.SharedInformerFactory.
func (f *Factory) Policy() policy.Interface { return policy.New(f, "", nil) }

// Storage implements informers.SharedInformerFactory.
func (f *Factory) Storage() storage.Interface { return storage.New(f, "", nil) }

// InformerFor implements informers.SharedInformerFactory.
func (f *Factory) InformerFor(o runtime.Object, _ internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	return f.Informer(store.KindOf(o))
}

// Informer returns the informer of a kind. It panics if the kind is not delivered.
func (f *Factory) Informer(k store.Kind) cache.SharedIndexInformer {
	if !slices.Contains(f.kinds, k) {
		panic(fmt.Sprintf("the actor does not watch %s", k))
	}
	i := f.informers[k]
	if i == nil {
		i = &informer{indexer: newIndexer(k)}
		f.informers[k] = i
		if f.cached != nil {
			for _, o := range f.cached(k) {
				i.change(nil, o)
			}
		}
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
	indexer   *indexer
	transform cache.TransformFunc
	handlers  []cache.ResourceEventHandler
}

// change updates the indexes and calls the event handlers.
func (i *informer) change(old, current store.Object) {
	if current == nil {
		before := i.indexer.remove(store.KeyOf(old))
		for _, h := range i.handlers {
			h.OnDelete(before)
		}
		return
	}
	after := any(current)
	if i.transform != nil {
		if transformed, err := i.transform(current); err == nil {
			after = transformed
		}
	}
	before := i.indexer.set(store.KeyOf(current), after)
	for _, h := range i.handlers {
		if before == nil {
			h.OnAdd(after, false)
		} else {
			h.OnUpdate(before, after)
		}
	}
}

// AddEventHandler implements cache.SharedInformer.
func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	for _, o := range i.indexer.List() {
		h.OnAdd(o, true)
	}
	i.handlers = append(i.handlers, h)
	return registration{}, nil
}

// registration implements cache.ResourceEventHandlerRegistration.
type registration struct {
	cache.ResourceEventHandlerRegistration
}

// HasSynced implements cache.ResourceEventHandlerRegistration.
func (registration) HasSynced() bool { return true }

// HasSynced implements cache.SharedInformer. A process starts when its caches are filled.
func (i *informer) HasSynced() bool { return true }

// SetTransform implements cache.SharedInformer.
func (i *informer) SetTransform(f cache.TransformFunc) error {
	i.transform = f
	return nil
}

// GetStore implements cache.SharedInformer.
func (i *informer) GetStore() cache.Store { return i.indexer }

// GetIndexer implements cache.SharedIndexInformer.
func (i *informer) GetIndexer() cache.Indexer { return i.indexer }

// AddIndexers implements cache.SharedIndexInformer.
func (i *informer) AddIndexers(added cache.Indexers) error {
	i.indexer.add(added)
	return nil
}
