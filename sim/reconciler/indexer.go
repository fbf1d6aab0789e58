package reconciler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// indexer implements cache.Indexer over an actor's cache of a kind. All lists are ordered by key, so that runs repeat.
type indexer struct {
	cache.Indexer
	client *sim.Client
	kind   store.Kind
	funcs  cache.Indexers
	values map[string]map[string][]entry // by index and value, sorted by key
}

// entry is an indexed object.
type entry struct {
	key    string
	object store.Object
}

func newIndexer(c *sim.Client, k store.Kind) *indexer {
	x := &indexer{client: c, kind: k, funcs: cache.Indexers{}, values: map[string]map[string][]entry{}}
	x.add(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	return x
}

// add adds indexes. They contain only objects that change afterwards.
func (x *indexer) add(funcs cache.Indexers) {
	for name, f := range funcs {
		x.funcs[name], x.values[name] = f, map[string][]entry{}
	}
}

// change updates the indexes.
func (x *indexer) change(old, current store.Object) {
	for name, f := range x.funcs {
		var before, after []string
		if old != nil {
			before, _ = f(old)
		}
		if current != nil {
			after, _ = f(current)
		}
		for _, v := range before {
			if !slices.Contains(after, v) {
				x.remove(name, v, store.KeyOf(old))
			}
		}
		for _, v := range after {
			x.set(name, v, entry{store.KeyOf(current), current})
		}
	}
}

func search(list []entry, key string) (int, bool) {
	return slices.BinarySearchFunc(list, key, func(e entry, key string) int { return strings.Compare(e.key, key) })
}

func (x *indexer) set(index, value string, e entry) {
	list := x.values[index][value]
	i, found := search(list, e.key)
	if found {
		list[i] = e
		return
	}
	x.values[index][value] = slices.Insert(list, i, e)
}

func (x *indexer) remove(index, value, key string) {
	list := x.values[index][value]
	i, found := search(list, key)
	if !found {
		return
	}
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(x.values[index], value)
		return
	}
	x.values[index][value] = list
}

// GetIndexers implements cache.Indexer.
func (x *indexer) GetIndexers() cache.Indexers { return maps.Clone(x.funcs) }

// ByIndex implements cache.Indexer.
func (x *indexer) ByIndex(index, value string) ([]any, error) {
	if x.funcs[index] == nil {
		return nil, fmt.Errorf("listing %s: there is no index %q", x.kind, index)
	}
	list := x.values[index][value]
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = e.object
	}
	return out, nil
}

// Index implements cache.Indexer.
func (x *indexer) Index(index string, object any) ([]any, error) {
	values, err := x.funcs[index](object)
	if err != nil || len(values) == 0 {
		return nil, err
	}
	return x.ByIndex(index, values[0])
}

// List implements cache.Store.
func (x *indexer) List() []any {
	keys := x.client.Keys(x.kind)
	out := make([]any, len(keys))
	for i, key := range keys {
		out[i] = x.client.Cached(x.kind)[key]
	}
	return out
}

// GetByKey implements cache.Store.
func (x *indexer) GetByKey(key string) (item any, exists bool, err error) {
	o := x.client.Cached(x.kind)[key]
	if o == nil {
		return nil, false, nil
	}
	return o, true, nil
}
