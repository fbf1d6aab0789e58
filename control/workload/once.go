package workload

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Once tells apart what was said already: of each object, one time at a place.
type Once struct {
	mu   sync.Mutex
	said map[place]time.Time
}

// NewOnce knows of nothing that was said.
func NewOnce() *Once { return &Once{said: map[place]time.Time{}} }

// Say says whether something about a time is new: it was not said of the place with this time before.
func (o *Once) Say(object types.UID, name string, at time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := place{object, name}
	if o.said[p].Equal(at) {
		return false
	}
	for old, t := range o.said {
		if at.Sub(t) > forgotten {
			delete(o.said, old)
		}
	}
	o.said[p] = at
	return true
}
