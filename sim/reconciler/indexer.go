package reconciler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/sim/store"
)

// indexer implements cache.Indexer. All lists are ordered by key, so that runs are deterministic. The order of keys is
// the namespace index.
type indexer struct {
	cache.Indexer
	kind    store.Kind
	objects entries
	funcs   cache.Indexers
	values  map[string]map[string]entries // by index and value
}

// entries are objects, sorted by key.
type entries []entry

type entry struct {
	key    string
	object any
}

func newIndexer(k store.Kind) *indexer {
	return &indexer{kind: k, funcs: cache.Indexers{}, values: map[string]map[string]entries{}}
}

// add adds indexes.
func (x *indexer) add(funcs cache.Indexers) {
	for name, f := range funcs {
		x.funcs[name], x.values[name] = f, map[string]entries{}
		for _, e := range x.objects {
			x.reindex(name, e.key, nil, e.object)
		}
	}
}

// set sets an object and returns the previous one, or nil.
func (x *indexer) set(key string, current any) (old any) {
	x.objects, old = x.objects.set(key, current)
	for name := range x.funcs {
		x.reindex(name, key, old, current)
	}
	return old
}

// remove removes an object and returns it, or nil.
func (x *indexer) remove(key string) (old any) {
	x.objects, old = x.objects.remove(key)
	for name := range x.funcs {
		x.reindex(name, key, old, nil)
	}
	return old
}

// reindex updates an index; old or current may be nil.
func (x *indexer) reindex(name, key string, old, current any) {
	var before, after []string
	if old != nil {
		before, _ = x.funcs[name](old)
	}
	if current != nil {
		after, _ = x.funcs[name](current)
	}
	values := x.values[name]
	for _, v := range before {
		if slices.Contains(after, v) {
			continue
		}
		if values[v], _ = values[v].remove(key); len(values[v]) == 0 {
			delete(values, v)
		}
	}
	for _, v := range after {
		values[v], _ = values[v].set(key, current)
	}
}

func (l entries) search(key string) (int, bool) {
	return slices.BinarySearchFunc(l, key, func(e entry, key string) int { return strings.Compare(e.key, key) })
}

func (l entries) set(key string, object any) (after entries, old any) {
	i, found := l.search(key)
	if !found {
		return slices.Insert(l, i, entry{key, object}), nil
	}
	old, l[i].object = l[i].object, object
	return l, old
}

func (l entries) remove(key string) (after entries, old any) {
	i, found := l.search(key)
	if !found {
		return l, nil
	}
	old = l[i].object
	return slices.Delete(l, i, i+1), old
}

func (l entries) list() []any {
	out := make([]any, len(l))
	for i := range l {
		out[i] = l[i].object
	}
	return out
}

// GetIndexers implements cache.Indexer.
func (x *indexer) GetIndexers() cache.Indexers { return maps.Clone(x.funcs) }

// ByIndex implements cache.Indexer.
func (x *indexer) ByIndex(index, value string) ([]any, error) {
	if index == cache.NamespaceIndex {
		start, _ := x.objects.search(value + "/")
		end, _ := x.objects.search(value + "0") // the character after the slash
		return x.objects[start:end].list(), nil
	}
	if x.funcs[index] == nil {
		return nil, fmt.Errorf("listing %s: there is no index %q", x.kind, index)
	}
	return x.values[index][value].list(), nil
}

// Index implements cache.Indexer.
func (x *indexer) Index(index string, object any) ([]any, error) {
	if o, ok := object.(metav1.Object); ok && index == cache.NamespaceIndex {
		return x.ByIndex(index, o.GetNamespace())
	}
	values, err := x.funcs[index](object)
	if err != nil || len(values) == 0 {
		return nil, err
	}
	return x.ByIndex(index, values[0])
}

// List implements cache.Store.
func (x *indexer) List() []any { return x.objects.list() }

// GetByKey implements cache.Store.
func (x *indexer) GetByKey(key string) (item any, exists bool, err error) {
	i, found := x.objects.search(key)
	if !found {
		return nil, false, nil
	}
	return x.objects[i].object, true, nil
}
