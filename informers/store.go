package informers

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/engine/scheduling"
)

// eventStore is the store of a reflector. It holds the last conversion of each existing object.
type eventStore struct {
	source  *Source
	kind    kind
	objects map[string]entry // by namespace/name
}

type entry struct {
	uid    string
	object any // converted; nil if not relevant
}

var _ cache.ReflectorStore = &eventStore{}

// Add adds or updates an object.
func (s *eventStore) Add(obj any) error {
	events, err := s.upsert(nil, obj)
	if err != nil {
		return err
	}
	s.source.Push(events...)
	return nil
}

// Update adds or updates an object.
func (s *eventStore) Update(obj any) error { return s.Add(obj) }

// Delete removes an object.
func (s *eventStore) Delete(obj any) error {
	o, ok := obj.(metav1.Object)
	if !ok {
		return fmt.Errorf("%s: a deleted object of type %T has no metadata", s.kind.name, obj)
	}
	s.source.Push(s.remove(nil, key(o))...)
	return nil
}

// Replace replaces all objects with those of a list. Objects that are not in the list were deleted while the
// watch was broken.
func (s *eventStore) Replace(list []any, _ string) error {
	var events []scheduling.Event
	existing := make(map[string]bool, len(list))
	for _, obj := range list {
		var err error
		if events, err = s.upsert(events, obj); err != nil {
			return err
		}
		existing[key(obj.(metav1.Object))] = true
	}
	var deleted []string
	for k := range s.objects {
		if !existing[k] {
			deleted = append(deleted, k)
		}
	}
	slices.Sort(deleted)
	for _, k := range deleted {
		events = s.remove(events, k)
	}
	s.source.Push(events...)
	s.source.markListed(s.kind.name)
	return nil
}

// Resync does nothing: events are not repeated.
func (s *eventStore) Resync() error { return nil }

// upsert stores an object and appends its events.
func (s *eventStore) upsert(events []scheduling.Event, obj any) ([]scheduling.Event, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("%s: an object of type %T has no metadata", s.kind.name, obj)
	}
	k := key(o)
	if e, ok := s.objects[k]; ok && e.uid != string(o.GetUID()) {
		events = s.remove(events, k)
	}
	converted, err := s.kind.convert(obj)
	if err != nil {
		return nil, err
	}
	if converted == nil || s.kind.omitDeletes {
		s.objects[k] = entry{uid: string(o.GetUID())}
	} else {
		s.objects[k] = entry{string(o.GetUID()), converted}
	}
	if converted == nil {
		return events, nil
	}
	if s.kind.detail != nil {
		events = append(events, s.kind.detail(obj))
	}
	return append(events, converted), nil
}

// remove removes an object and appends its deletion event, unless the object is not relevant.
func (s *eventStore) remove(events []scheduling.Event, k string) []scheduling.Event {
	e, ok := s.objects[k]
	if !ok {
		return events
	}
	delete(s.objects, k)
	if s.kind.onDelete != nil {
		s.kind.onDelete(e.uid)
	}
	if e.object == nil {
		return events
	}
	return append(events, scheduling.Remove{Object: e.object})
}

func key(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }
