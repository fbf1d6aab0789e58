package workload

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// EventDeduplicator suppresses repeated events for an object and slot.
type EventDeduplicator struct {
	mu       sync.Mutex
	recorded map[slot]time.Time
}

// NewEventDeduplicator returns an empty EventDeduplicator.
func NewEventDeduplicator() *EventDeduplicator {
	return &EventDeduplicator{recorded: map[slot]time.Time{}}
}

// ShouldRecord reports whether an event with this time has not been recorded for the slot yet.
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
