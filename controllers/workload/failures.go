package workload

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/workload"
)

// FailureTracker records failures of pods, also after the pods are deleted, so that the backoff grows (engine/workload).
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
// nodes are no longer queried.
func (t *FailureTracker) Add(owner types.UID, name string, pod types.UID, failure workload.PodFailure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := slot{owner, name}
	if _, exists := t.bySlot[key][pod]; !exists {
		for s := range t.bySlot {
			t.expire(s, failure.FailedAt)
		}
	}
	if t.bySlot[key] == nil {
		t.bySlot[key] = map[types.UID]workload.PodFailure{}
	}
	t.bySlot[key][pod] = failure
}

// List returns the unexpired failures of a slot, oldest first.
func (t *FailureTracker) List(owner types.UID, name string, now time.Time) (out []workload.PodFailure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := slot{owner, name}
	t.expire(key, now)
	for _, uid := range slices.Sorted(maps.Keys(t.bySlot[key])) {
		out = append(out, t.bySlot[key][uid])
	}
	slices.SortStableFunc(out, func(a, b workload.PodFailure) int { return a.FailedAt.Compare(b.FailedAt) })
	return out
}

// expire removes the expired failures of a slot. The caller must hold the lock.
func (t *FailureTracker) expire(key slot, now time.Time) {
	for uid, failure := range t.bySlot[key] {
		if now.Sub(failure.FailedAt) > failureRetention {
			delete(t.bySlot[key], uid)
		}
	}
	if len(t.bySlot[key]) == 0 {
		delete(t.bySlot, key)
	}
}

// Forget removes all failures of a deleted owner.
func (t *FailureTracker) Forget(owner types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.bySlot {
		if key.owner == owner {
			delete(t.bySlot, key)
		}
	}
}
