package executor

import "sync"

// maxTrackedPods is how many pods a tally knows at most; then it begins anew. What is lost by that is that one which is told again
// and again, as the server does not take its event, may be counted again.
const maxTrackedPods = 10_000

// deduplicator makes sure that a displacement is counted once, however often it is told.
type deduplicator struct {
	mu   sync.Mutex
	pods map[string]bool // by uid: whether it is counted; if not, its event was sent and no answer came
}

// markCounted notes that a pod is counted, and says whether it was not.
func (t *deduplicator) markCounted(uid string) bool { return !t.set(uid, true) }

// markUnanswered notes that an event may have been written.
func (t *deduplicator) markUnanswered(uid string) { t.set(uid, false) }

// isUnanswered says whether an event of a pod was sent and no answer came.
func (t *deduplicator) isUnanswered(uid string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	counted, known := t.pods[uid]
	return known && !counted
}

// set says whether the pod was counted before.
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
