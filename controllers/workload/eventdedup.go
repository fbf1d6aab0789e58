package workload

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// EventDeduplicator tells apart what was said already: of each object, one time at a place.
type EventDeduplicator struct {
	mu       sync.Mutex
	recorded map[slot]time.Time
}

// NewEventDeduplicator knows of nothing that was said.
func NewEventDeduplicator() *EventDeduplicator {
	return &EventDeduplicator{recorded: map[slot]time.Time{}}
}

// ShouldRecord says whether something about a time is new: it was not said of the place with this time before.
func (o *EventDeduplicator) ShouldRecord(object types.UID, name string, at time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := slot{object, name}
	if o.recorded[p].Equal(at) {
		return false
	}
	for old, t := range o.recorded {
		if at.Sub(t) > failureRetention {
			delete(o.recorded, old)
		}
	}
	o.recorded[p] = at
	return true
}
