package queue

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// twin is the queue told as plainly as possible: one slice, everything
// recomputed from each pod's history whenever it is asked.
type twin struct {
	cfg   Config
	pods  []*record
	kinds map[any]*crowd
	flush time.Time
	now   time.Time
}

type record struct {
	Pod
	place      Pool
	entered    time.Time
	attempts   int
	rejections int
	failures   int
	rules      decision.RuleSet
	heard      []decision.Delta // in flight
	granted    bool
	edited     bool
	crowd      *crowd // that it waits in
	speaks     *crowd // that it was woken for
}

// crowd is the rejected pods of one kind.
type crowd struct {
	key      any
	kind     Kind
	rules    decision.RuleSet
	speaker  *record
	anywhere bool
	nodes    []string
}

func (t *twin) find(uid string) *record {
	for _, r := range t.pods {
		if r.UID == uid {
			return r
		}
	}
	return nil
}

func (t *twin) enter(now time.Time, p Pod) {
	t.now = now
	if r := t.find(p.UID); r != nil {
		t.update(now, p, false)
		return
	}
	t.pods = append(t.pods, &record{Pod: p, place: Active, entered: now})
}

func (t *twin) enterGated(now time.Time, p Pod, rule decision.Rule) {
	t.now = now
	r := t.find(p.UID)
	if r == nil {
		r = &record{}
		t.pods = append(t.pods, r)
	}
	if r.place == InFlight {
		r.attempts--
	}
	r.Pod, r.place, r.entered, r.rules, r.crowd = p, Gated, now, 1<<rule, nil
	t.arm()
	t.speakNoMore(r)
}

func (t *twin) arm() {
	if t.flush.IsZero() {
		t.flush = t.now.Add(t.cfg.FlushEvery)
	}
}

func (t *twin) update(now time.Time, p Pod, moves bool) {
	t.now = now
	r := t.find(p.UID)
	if r == nil {
		return
	}
	waits := r.place == Unschedulable || r.place == Gated
	if moves && !waits {
		t.speakNoMore(r)
	}
	r.Pod = p
	if r.place == Unschedulable && r.crowd.speaker != nil {
		moves = true
	}
	switch {
	case r.place == InFlight:
		r.edited = r.edited || moves
	case moves && waits:
		t.wake(r)
	case r.place == Unschedulable:
		t.sleep(r, r.rules|r.crowd.rules)
	case r.place == Gated:
		t.arm()
	}
}

func (t *twin) remove(uid string) {
	r := t.find(uid)
	if r == nil {
		return
	}
	t.pods = slices.DeleteFunc(t.pods, func(o *record) bool { return o == r })
	t.speakNoMore(r)
}

// wake takes r out of a pool on its own account.
func (t *twin) wake(r *record) {
	if r.place == Gated {
		r.place, r.entered = Active, t.now
		return
	}
	t.settle(r)
}

// ends is the end of the window in which r's back-off ends.
func (t *twin) ends(r *record) time.Time {
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
	return r.entered.Add(min(d, t.cfg.MaxBackoff)).Truncate(time.Second).Add(time.Second)
}

func (t *twin) settle(r *record) {
	r.crowd = nil
	switch {
	case !t.ends(r).After(t.now):
		r.place = Active
	case r.failures > 0:
		r.place = Errors
	default:
		r.place = Backoff
	}
}

func (t *twin) mature() {
	for _, r := range t.pods {
		if (r.place == Backoff || r.place == Errors) && !t.ends(r).After(t.now) {
			r.place = Active
		}
	}
	if t.flush.IsZero() || t.flush.After(t.now) {
		return
	}
	waits := func(r *record) bool { return r.place == Unschedulable || r.place == Gated }
	for _, r := range t.pods {
		if waits(r) && !r.entered.Add(t.cfg.LeftoverAfter).After(t.now) {
			t.wake(r)
		}
	}
	t.flush = time.Time{}
	if slices.ContainsFunc(t.pods, waits) {
		t.arm()
	}
}

func (t *twin) next(now time.Time) (Attempt, bool) {
	t.now = now
	t.mature()
	for {
		var best *record
		for _, r := range t.pods {
			if (r.place == Active || r.place == Backoff) && (best == nil || t.before(r, best)) {
				best = r
			}
		}
		if best == nil {
			return Attempt{}, false
		}
		if !t.stillWorth(best) {
			continue
		}
		best.place, best.heard, best.edited, best.granted = InFlight, nil, false, false
		best.attempts++
		return Attempt{Pod: best.Pod, Number: best.attempts}, true
	}
}

func (t *twin) before(a, b *record) bool {
	if a.place != b.place {
		return a.place == Active
	}
	if a.place == Backoff {
		if c := t.ends(a).Compare(t.ends(b)); c != 0 {
			return c < 0
		}
	}
	return t.outranks(a, b)
}

func (t *twin) outranks(a, b *record) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	if c := a.entered.Compare(b.entered); c != 0 {
		return c < 0
	}
	return a.Name < b.Name
}

func (t *twin) fail(now time.Time, uid string) {
	r := t.find(uid)
	if r == nil || r.place != InFlight {
		return
	}
	t.now, r.entered = now, now
	r.failures++
	t.settle(r)
	t.speakNoMore(r)
}

func (t *twin) grant(uid string) {
	if r := t.find(uid); r != nil && r.place == InFlight {
		r.granted = true
		t.speakNoMore(r)
	}
}

func (t *twin) activate(now time.Time, uid string) {
	if r := t.find(uid); r != nil && (r.place == Active || r.place == Unschedulable || r.place == Backoff || r.place == Errors) {
		t.now = now
		r.place, r.crowd = Active, nil
		t.speakNoMore(r)
	}
}

func (t *twin) wakeTime(now time.Time) time.Time {
	at := t.flush
	for _, r := range t.pods {
		switch r.place {
		case Active, Backoff:
			return now
		case Errors:
			if e := t.ends(r); at.IsZero() || e.Before(at) {
				at = e
			}
		}
	}
	return at
}
