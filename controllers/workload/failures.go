package workload

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/workload"
)

// FailureTracker remembers failures of pods that were deleted since, so that the backoff grows (engine/workload).
// Failures before a restart are lost, except for Holds and existing pods.
type FailureTracker struct {
	mu     sync.Mutex
	bySlot map[slot]map[types.UID]workload.PodFailure // by the pod's UID
}

// slot identifies a sequence of pods of an owner: those on a node, or those with an ordinal.
type slot struct {
	owner types.UID
	name  string
}

// failureRetention is the age after which a failure has no effect on the backoff.
const failureRetention = time.Hour

// NewFailureTracker returns an empty FailureTracker.
func NewFailureTracker() *FailureTracker {
	return &FailureTracker{bySlot: map[slot]map[types.UID]workload.PodFailure{}}
}

// Add records a failure. It also removes expired failures of all slots, since slots such as those of deleted
// nodes are not queried any more.
func (d *FailureTracker) Add(owner types.UID, name string, pod types.UID, failure workload.PodFailure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := slot{owner, name}
	if _, known := d.bySlot[p][pod]; !known {
		for old := range d.bySlot {
			d.expire(old, failure.FailedAt)
		}
	}
	if d.bySlot[p] == nil {
		d.bySlot[p] = map[types.UID]workload.PodFailure{}
	}
	d.bySlot[p][pod] = failure
}

// List returns the unexpired failures of a slot, oldest first.
func (d *FailureTracker) List(owner types.UID, name string, now time.Time) (out []workload.PodFailure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := slot{owner, name}
	d.expire(p, now)
	for _, failure := range d.bySlot[p] {
		out = append(out, failure)
	}
	slices.SortFunc(out, func(a, b workload.PodFailure) int { return a.FailedAt.Compare(b.FailedAt) })
	return out
}

// expire removes the expired failures of a slot. The caller must hold the lock.
func (d *FailureTracker) expire(p slot, now time.Time) {
	for uid, failure := range d.bySlot[p] {
		if now.Sub(failure.FailedAt) > failureRetention {
			delete(d.bySlot[p], uid)
		}
	}
	if len(d.bySlot[p]) == 0 {
		delete(d.bySlot, p)
	}
}

// Forget removes all failures of a deleted owner.
func (d *FailureTracker) Forget(owner types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for p := range d.bySlot {
		if p.owner == owner {
			delete(d.bySlot, p)
		}
	}
}
