package workload

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/workload"
)

// FailureTracker remembers how pods died that their owner deleted since, so that the pause before the
// next one grows (engine/workload.Pause). What happened before a restart is forgotten, but for the
// Holds and for the pods that are still there.
type FailureTracker struct {
	mu     sync.Mutex
	bySlot map[slot]map[types.UID]workload.PodFailure // by the pod's uid
}

// slot is where an owner's pods follow on each other: a node, or a number.
type slot struct {
	owner types.UID
	name  string
}

// failureRetention is how old a death is that makes no pause longer any more: its successor lived
// for as long as that, or waited.
const failureRetention = time.Hour

// NewFailureTracker knows of none.
func NewFailureTracker() *FailureTracker {
	return &FailureTracker{bySlot: map[slot]map[types.UID]workload.PodFailure{}}
}

// Add remembers a death. With a new one, those are forgotten that do not count any more: there are places, such as nodes that
// are gone, of which nobody asks again.
func (d *FailureTracker) Add(owner types.UID, name string, pod types.UID, death workload.PodFailure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := slot{owner, name}
	if _, known := d.bySlot[p][pod]; !known {
		for old := range d.bySlot {
			d.expire(old, death.FailedAt)
		}
	}
	if d.bySlot[p] == nil {
		d.bySlot[p] = map[types.UID]workload.PodFailure{}
	}
	d.bySlot[p][pod] = death
}

// List are the deaths at a place that still count, the oldest first.
func (d *FailureTracker) List(owner types.UID, name string, now time.Time) (out []workload.PodFailure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := slot{owner, name}
	d.expire(p, now)
	for _, death := range d.bySlot[p] {
		out = append(out, death)
	}
	slices.SortFunc(out, func(a, b workload.PodFailure) int { return a.FailedAt.Compare(b.FailedAt) })
	return out
}

// expire forgets what is too old at a place. The lock is held.
func (d *FailureTracker) expire(p slot, now time.Time) {
	for uid, death := range d.bySlot[p] {
		if now.Sub(death.FailedAt) > failureRetention {
			delete(d.bySlot[p], uid)
		}
	}
	if len(d.bySlot[p]) == 0 {
		delete(d.bySlot, p)
	}
}

// Forget drops what is known of an owner that is gone.
func (d *FailureTracker) Forget(owner types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for p := range d.bySlot {
		if p.owner == owner {
			delete(d.bySlot, p)
		}
	}
}
