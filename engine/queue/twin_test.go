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
	flush time.Time
}

type record struct {
	Pod
	place      Pool
	entered    time.Time
	attempts   int
	rejections int
	failures   int
	rules      decision.RuleSet
	heard      []decision.Change // in flight
	edited     bool
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
	if r := t.find(p.UID); r != nil {
		r.Pod = p
		return
	}
	t.pods = append(t.pods, &record{Pod: p, place: Active, entered: now})
}

func (t *twin) enterGated(now time.Time, p Pod, rule decision.Rule) {
	r := t.find(p.UID)
	if r == nil {
		r = &record{}
		t.pods = append(t.pods, r)
	}
	if r.place == InFlight {
		r.attempts--
	}
	r.Pod, r.place, r.entered, r.rules = p, Gated, now, 1<<rule
	t.arm(now)
}

func (t *twin) arm(now time.Time) {
	if t.flush.IsZero() {
		t.flush = now.Add(t.cfg.FlushEvery)
	}
}

func (t *twin) update(now time.Time, p Pod, moves bool) {
	r := t.find(p.UID)
	if r == nil {
		return
	}
	r.Pod = p
	switch {
	case r.place == InFlight:
		r.edited = r.edited || moves
	case moves:
		t.wake(now, r)
	}
}

func (t *twin) remove(uid string) {
	t.pods = slices.DeleteFunc(t.pods, func(r *record) bool { return r.UID == uid })
}

func (t *twin) wake(now time.Time, r *record) {
	switch r.place {
	case Gated:
		r.place, r.entered = Active, now
	case Unschedulable:
		t.settle(now, r)
	}
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

func (t *twin) settle(now time.Time, r *record) {
	switch {
	case !t.ends(r).After(now):
		r.place = Active
	case r.failures > 0:
		r.place = Errors
	default:
		r.place = Backoff
	}
}

func (t *twin) next(now time.Time) (Attempt, bool) {
	for _, r := range t.pods {
		if (r.place == Backoff || r.place == Errors) && !t.ends(r).After(now) {
			r.place = Active
		}
	}
	if !t.flush.IsZero() && !t.flush.After(now) {
		for _, r := range t.pods {
			if !r.entered.Add(t.cfg.LeftoverAfter).After(now) {
				t.wake(now, r)
			}
		}
		t.flush = time.Time{}
		if slices.ContainsFunc(t.pods, func(r *record) bool { return r.place == Unschedulable || r.place == Gated }) {
			t.arm(now)
		}
	}
	var best *record
	for _, r := range t.pods {
		if r.place != Active && r.place != Backoff {
			continue
		}
		if best == nil || t.before(r, best) {
			best = r
		}
	}
	if best == nil {
		return Attempt{}, false
	}
	best.place, best.heard, best.edited = InFlight, nil, false
	best.attempts++
	return Attempt{Pod: best.Pod, Number: best.attempts}, true
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
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	if c := a.entered.Compare(b.entered); c != 0 {
		return c < 0
	}
	return a.Key < b.Key
}

func (t *twin) giveBack(now time.Time, uid string, rules decision.RuleSet, failed bool) {
	r := t.find(uid)
	if r == nil || r.place != InFlight {
		return
	}
	r.entered = now
	if failed {
		r.failures++
		t.settle(now, r)
		return
	}
	r.rejections, r.failures, r.rules = r.rejections+1, 0, rules
	concerned := slices.ContainsFunc(r.heard, func(c decision.Change) bool { return c&t.cfg.Cares(rules) != 0 })
	if r.edited || concerned {
		t.settle(now, r)
		return
	}
	r.place = Unschedulable
	t.arm(now)
}

func (t *twin) changed(now time.Time, c decision.Change) {
	for _, r := range t.pods {
		if r.place == InFlight {
			r.heard = append(r.heard, c)
		} else if t.cfg.Cares(r.rules)&c != 0 {
			t.wake(now, r)
		}
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
