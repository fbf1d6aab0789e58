package feed

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/engine/scheduling"
)

// ledger is what a reflector writes to. It knows of each object that it is there, and
// what it was compiled to last.
type ledger struct {
	feed  *Feed
	kind  kind
	there map[string]entry // by namespace/name
}

type entry struct {
	uid  string
	last any // compiled; nil when nobody needs to know of it
}

var _ cache.ReflectorStore = &ledger{}

// Add takes in an object.
func (l *ledger) Add(obj any) error {
	events, err := l.upsert(nil, obj)
	if err != nil {
		return err
	}
	l.feed.Push(events...)
	return nil
}

// Update takes in an object.
func (l *ledger) Update(obj any) error { return l.Add(obj) }

// Delete takes in that an object is gone.
func (l *ledger) Delete(obj any) error {
	o, ok := obj.(metav1.Object)
	if !ok {
		return fmt.Errorf("%s: a deleted object of type %T has no metadata", l.kind.name, obj)
	}
	l.feed.Push(l.remove(nil, key(o))...)
	return nil
}

// Replace takes in a whole list: what is not in it was deleted unseen.
func (l *ledger) Replace(list []any, _ string) error {
	var events []scheduling.Event
	there := make(map[string]bool, len(list))
	for _, obj := range list {
		var err error
		if events, err = l.upsert(events, obj); err != nil {
			return err
		}
		there[key(obj.(metav1.Object))] = true
	}
	var gone []string
	for k := range l.there {
		if !there[k] {
			gone = append(gone, k)
		}
	}
	slices.Sort(gone)
	for _, k := range gone {
		events = l.remove(events, k)
	}
	l.feed.Push(events...)
	l.feed.listed(l.kind.name)
	return nil
}

// Resync has nothing to do: nothing is repeated.
func (l *ledger) Resync() error { return nil }

func (l *ledger) upsert(events []scheduling.Event, obj any) ([]scheduling.Event, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("%s: an object of type %T has no metadata", l.kind.name, obj)
	}
	k := key(o)
	if e, ok := l.there[k]; ok && e.uid != string(o.GetUID()) {
		events = l.remove(events, k)
	}
	compiled, err := l.kind.compile(obj)
	if err != nil {
		return nil, err
	}
	if compiled == nil || l.kind.quiet {
		l.there[k] = entry{uid: string(o.GetUID())}
	} else {
		l.there[k] = entry{string(o.GetUID()), compiled}
	}
	if compiled == nil {
		return events, nil
	}
	return append(events, compiled), nil
}

func (l *ledger) remove(events []scheduling.Event, k string) []scheduling.Event {
	e, ok := l.there[k]
	if !ok {
		return events
	}
	delete(l.there, k)
	if l.kind.gone != nil {
		l.kind.gone(e.uid)
	}
	if e.last == nil {
		return events
	}
	return append(events, scheduling.Remove{Object: e.last})
}

func key(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }
