package displacer

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
func (d *deduplicator) markCounted(uid string) bool { return !d.set(uid, true) }

// markUnanswered records that the event of a pod may have been written.
func (d *deduplicator) markUnanswered(uid string) { d.set(uid, false) }

// isUnanswered reports whether the event of a pod was sent and its response was lost.
func (d *deduplicator) isUnanswered(uid string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	counted, ok := d.pods[uid]
	return ok && !counted
}

// set updates the state of a pod and reports whether the pod was counted before.
func (d *deduplicator) set(uid string, counted bool) (wasCounted bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pods == nil || len(d.pods) >= maxTrackedPods {
		d.pods = map[string]bool{}
	}
	wasCounted = d.pods[uid]
	d.pods[uid] = counted || wasCounted
	return wasCounted
}
