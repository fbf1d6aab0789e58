package queue

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// Waiting is a pod in the queue, for people.
type Waiting struct {
	Pod
	Pool     Pool
	Rules    decision.RuleSet // who rejected it last, or gates it; empty when nobody has yet
	Attempts int
	First    time.Time // when it entered the queue for the first time
	Since    time.Time // when it was last tried, or entered
	// BackoffEnd is when its back-off ends; zero when it has none.
	BackoffEnd time.Time
	Equals     int // how many pods, with it, wait for the same in the same pool
}

// Waiting calls yield with all pods, in the order of the pools and in each by
// rank, until it says no.
func (q *Queue) Waiting(yield func(Waiting) bool) {
	all := make([]*entry, 0, len(q.pods))
	for _, e := range q.pods { // any order; sorted below
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *entry) int {
		if a.pool != b.pool {
			return int(a.pool) - int(b.pool)
		}
		before := byRank
		if a.pool == Backoff || a.pool == Errors {
			before = byWindow
		}
		if before(a, b) {
			return -1
		}
		return 1
	})
	for _, e := range all {
		if !yield(q.told(e)) {
			return
		}
	}
}

func (q *Queue) told(e *entry) Waiting {
	w := Waiting{Pod: e.Pod, Pool: e.pool, Rules: e.rules, Attempts: e.attempts, First: e.first, Since: e.entered, Equals: 1}
	switch e.pool {
	case Backoff, Errors:
		w.BackoffEnd = e.window.Add(window)
	case Unschedulable, Gated:
		w.Equals = len(e.group.members.items)
	}
	return w
}

// Depths are the numbers of pods by place.
type Depths struct{ Active, Backoff, Unschedulable, Gated, InFlight int }

// Depths counts the pods.
func (q *Queue) Depths() Depths {
	return Depths{Active: len(q.active.items), Backoff: len(q.backoff.items) + len(q.errors.items),
		Unschedulable: q.unschedulable.size, Gated: q.gated.size, InFlight: q.inFlight}
}

// Sleeper is a waiting pod that speaks for all of its kind, of which none was
// woken; each kind in turn. ok is false when there is none.
func (q *Queue) Sleeper() (uid string, rules decision.RuleSet, ok bool) {
	groups := q.unschedulable.groups
	for range groups {
		if q.turn++; q.turn >= len(groups) {
			q.turn = 0
		}
		if g := groups[q.turn]; g.probe == nil {
			return g.members.head().UID, g.rules, true
		}
	}
	return "", 0, false
}

// Missed wakes a sleeper that was found to fit.
func (q *Queue) Missed(now time.Time, uid string) {
	e, ok := q.pods[uid]
	if !ok || e.pool != Unschedulable || e.group.probe != nil {
		return
	}
	q.now = now
	g := e.group
	g.anywhere, g.cause = true, Audited
	q.counts.Missed++
	q.probe(g)
}
