package executor

import "sync"

// maxTrackedPods bounds the deduplicator. When it is full it is cleared; a displacement whose event the API server
// keeps refusing may then be counted again.
const maxTrackedPods = 10_000

// deduplicator ensures that each displacement is counted once, however often its record is written.
type deduplicator struct {
	mu   sync.Mutex
	pods map[string]bool // by UID: true if counted, false if its event was sent and the response was lost
}

// markCounted marks a pod as counted and reports whether it was not counted before.
func (t *deduplicator) markCounted(uid string) bool { return !t.set(uid, true) }

// markUnanswered records that the event of a pod may have been written.
func (t *deduplicator) markUnanswered(uid string) { t.set(uid, false) }

// isUnanswered reports whether the event of a pod was sent and its response was lost.
func (t *deduplicator) isUnanswered(uid string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	counted, ok := t.pods[uid]
	return ok && !counted
}

// set updates the state of a pod and reports whether the pod was counted before.
func (t *deduplicator) set(uid string, counted bool) (before bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pods == nil || len(t.pods) >= maxTrackedPods {
		t.pods = map[string]bool{}
	}
	before = t.pods[uid]
	t.pods[uid] = counted || before
	return before
}
