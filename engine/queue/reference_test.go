package queue

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// referenceQueue is a simple implementation of Queue: one slice, everything recomputed
// from the history of each pod.
type referenceQueue struct {
	cfg    Config
	pods   []*refEntry
	groups map[any]*referenceGroup
	flush  time.Time
	now    time.Time
}

type refEntry struct {
	Pod
	pool       Pool
	timestamp  time.Time
	attempts   int
	rejections int
	failures   int
	plugins    decision.PluginSet
	events     []decision.Delta // in flight
	assumed    bool
	edited     bool
	group      *referenceGroup // in which it waits
	probeFor   *referenceGroup // that it is the probe of
}

// referenceGroup is the unschedulable pods of one group.
type referenceGroup struct {
	key     any
	hints   QueueingHints
	plugins decision.PluginSet
	probe   *refEntry
	anyNode bool
	nodes   []string
}

func (t *referenceQueue) find(uid string) *refEntry {
	for _, r := range t.pods {
		if r.UID == uid {
			return r
		}
	}
	return nil
}

func (t *referenceQueue) add(now time.Time, p Pod) {
	t.now = now
	if r := t.find(p.UID); r != nil {
		t.update(now, p, false)
		return
	}
	t.pods = append(t.pods, &refEntry{Pod: p, pool: Active, timestamp: now})
}

func (t *referenceQueue) addGated(now time.Time, p Pod, plugin decision.Plugin) {
	t.now = now
	r := t.find(p.UID)
	if r == nil {
		r = &refEntry{}
		t.pods = append(t.pods, r)
	}
	if r.pool == InFlight {
		r.attempts--
	}
	r.Pod, r.pool, r.timestamp, r.plugins, r.group = p, Gated, now, 1<<plugin, nil
	t.scheduleFlush()
	t.passProbe(r)
}

func (t *referenceQueue) scheduleFlush() {
	if t.flush.IsZero() {
		t.flush = t.now.Add(t.cfg.FlushInterval)
	}
}

func (t *referenceQueue) update(now time.Time, p Pod, moves bool) {
	t.now = now
	r := t.find(p.UID)
	if r == nil {
		return
	}
	waiting := r.pool == Unschedulable || r.pool == Gated
	if moves && !waiting {
		t.passProbe(r)
	}
	r.Pod = p
	if r.pool == Unschedulable && r.group.probe != nil {
		moves = true
	}
	switch {
	case r.pool == InFlight:
		r.edited = r.edited || moves
	case moves && waiting:
		t.requeueWaiting(r)
	case r.pool == Unschedulable:
		t.addToGroup(r, r.plugins|r.group.plugins)
	case r.pool == Gated:
		t.scheduleFlush()
	}
}

func (t *referenceQueue) remove(uid string) {
	r := t.find(uid)
	if r == nil {
		return
	}
	t.pods = slices.DeleteFunc(t.pods, func(o *refEntry) bool { return o == r })
	t.passProbe(r)
}

// requeueWaiting moves r to another pool.
func (t *referenceQueue) requeueWaiting(r *refEntry) {
	if r.pool == Gated {
		r.pool, r.timestamp = Active, t.now
		return
	}
	t.moveToActiveOrBackoff(r)
}

// backoffEnd returns when the backoff of r ends.
func (t *referenceQueue) backoffEnd(r *refEntry) time.Time {
	n := r.rejections
	if r.failures > 0 {
		n = r.failures
	}
	d := t.cfg.InitialBackoff
	for range n - 1 {
		if d *= 2; d >= t.cfg.MaxBackoff {
			break
		}
	}
	if n == 0 || d == 0 {
		return time.Time{}
	}
	return r.timestamp.Add(min(d, t.cfg.MaxBackoff)).Truncate(time.Second).Add(time.Second)
}

func (t *referenceQueue) moveToActiveOrBackoff(r *refEntry) {
	r.group = nil
	switch {
	case !t.backoffEnd(r).After(t.now):
		r.pool = Active
	case r.failures > 0:
		r.pool = ErrorBackoff
	default:
		r.pool = Backoff
	}
}

func (t *referenceQueue) flushDue() {
	for _, r := range t.pods {
		if (r.pool == Backoff || r.pool == ErrorBackoff) && !t.backoffEnd(r).After(t.now) {
			r.pool = Active
		}
	}
	if t.flush.IsZero() || t.flush.After(t.now) {
		return
	}
	waiting := func(r *refEntry) bool { return r.pool == Unschedulable || r.pool == Gated }
	for _, r := range t.pods {
		if waiting(r) && !r.timestamp.Add(t.cfg.MaxUnschedulableDuration).After(t.now) {
			t.requeueWaiting(r)
		}
	}
	t.flush = time.Time{}
	if slices.ContainsFunc(t.pods, waiting) {
		t.scheduleFlush()
	}
}

func (t *referenceQueue) pop(now time.Time) (QueuedPodInfo, bool) {
	t.now = now
	t.flushDue()
	for {
		var best *refEntry
		for _, r := range t.pods {
			if (r.pool == Active || r.pool == Backoff) && (best == nil || t.before(r, best)) {
				best = r
			}
		}
		if best == nil {
			return QueuedPodInfo{}, false
		}
		if !t.probeIsValid(best) {
			continue
		}
		best.pool, best.events, best.edited, best.assumed = InFlight, nil, false, false
		best.attempts++
		return QueuedPodInfo{Pod: best.Pod, Attempts: best.attempts}, true
	}
}

func (t *referenceQueue) before(a, b *refEntry) bool {
	if a.pool != b.pool {
		return a.pool == Active
	}
	if a.pool == Backoff {
		if c := t.backoffEnd(a).Compare(t.backoffEnd(b)); c != 0 {
			return c < 0
		}
	}
	return t.outranks(a, b)
}

func (t *referenceQueue) outranks(a, b *refEntry) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	if c := a.timestamp.Compare(b.timestamp); c != 0 {
		return c < 0
	}
	return a.Name < b.Name
}

func (t *referenceQueue) requeueFailed(now time.Time, uid string) {
	r := t.find(uid)
	if r == nil || r.pool != InFlight {
		return
	}
	t.now, r.timestamp = now, now
	r.failures++
	t.moveToActiveOrBackoff(r)
	t.passProbe(r)
}

func (t *referenceQueue) markAssumed(uid string) {
	if r := t.find(uid); r != nil && r.pool == InFlight {
		r.assumed = true
		t.passProbe(r)
	}
}

func (t *referenceQueue) activate(now time.Time, uid string) {
	if r := t.find(uid); r != nil && (r.pool == Active || r.pool == Unschedulable || r.pool == Backoff || r.pool == ErrorBackoff) {
		t.now = now
		r.pool, r.group = Active, nil
		t.passProbe(r)
	}
}

func (t *referenceQueue) nextWakeup(now time.Time) time.Time {
	at := t.flush
	for _, r := range t.pods {
		switch r.pool {
		case Active, Backoff:
			return now
		case ErrorBackoff:
			if e := t.backoffEnd(r); at.IsZero() || e.Before(at) {
				at = e
			}
		}
	}
	return at
}
