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
func (d *EventDeduplicator) ShouldRecord(object types.UID, name string, at time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := slot{object, name}
	if d.recorded[key].Equal(at) {
		return false
	}
	for k, t := range d.recorded {
		if at.Sub(t) > failureRetention {
			delete(d.recorded, k)
		}
	}
	d.recorded[key] = at
	return true
}
