package actuate

import "sync"

// remembered is how many pods a tally knows at most; then it begins anew. What is lost by that is that one which is told again
// and again, as the server does not take its event, may be counted again.
const remembered = 10_000

// tally makes sure that a displacement is counted once, however often it is told.
type tally struct {
	mu   sync.Mutex
	pods map[string]bool // by uid: whether it is counted; if not, its event was sent and no answer came
}

// first notes that a pod is counted, and says whether it was not.
func (t *tally) first(uid string) bool { return !t.note(uid, true) }

// unanswered notes that an event may have been written.
func (t *tally) unanswered(uid string) { t.note(uid, false) }

// sent says whether an event of a pod was sent and no answer came.
func (t *tally) sent(uid string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	counted, known := t.pods[uid]
	return known && !counted
}

// note says whether the pod was counted before.
func (t *tally) note(uid string, counted bool) (before bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pods == nil || len(t.pods) >= remembered {
		t.pods = map[string]bool{}
	}
	before = t.pods[uid]
	t.pods[uid] = counted || before
	return before
}
