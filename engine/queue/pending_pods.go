package queue

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// PendingPod is a pod in the queue, for people.
type PendingPod struct {
	Pod
	Pool                 Pool
	UnschedulablePlugins decision.PluginSet // who rejected it last, or gates it; empty when nobody has yet
	Attempts             int
	FirstEnqueued        time.Time // when it entered the queue for the first time
	Since                time.Time // when it was last tried, or entered
	// BackoffEnd is when its back-off ends; zero when it has none.
	BackoffEnd time.Time
	GroupSize  int // how many pods, with it, wait for the same in the same pool
}

// PendingPods calls yield with all pods, in the order of the pools and in each by
// rank, until it says no.
func (q *Queue) PendingPods(yield func(PendingPod) bool) {
	all := make([]*entry, 0, len(q.pods))
	for _, e := range q.pods { // any order; sorted below
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *entry) int {
		if a.pool != b.pool {
			return int(a.pool) - int(b.pool)
		}
		before := lessByPriority
		if a.pool == Backoff || a.pool == ErrorBackoff {
			before = lessByBackoffWindow
		}
		if before(a, b) {
			return -1
		}
		return 1
	})
	for _, e := range all {
		if !yield(q.pendingPod(e)) {
			return
		}
	}
}

func (q *Queue) pendingPod(e *entry) PendingPod {
	w := PendingPod{Pod: e.Pod, Pool: e.pool, UnschedulablePlugins: e.plugins, Attempts: e.attempts, FirstEnqueued: e.firstEnqueued, Since: e.timestamp, GroupSize: 1}
	switch e.pool {
	case Backoff, ErrorBackoff:
		w.BackoffEnd = e.window.Add(window)
	case Unschedulable, Gated:
		w.GroupSize = len(e.group.members.items)
	}
	return w
}

// Depths are the numbers of pods by place.
type Depths struct{ Active, Backoff, Unschedulable, Gated, InFlight int }

// Depths counts the pods.
func (q *Queue) Depths() Depths {
	return Depths{Active: len(q.active.items), Backoff: len(q.backoff.items) + len(q.errorBackoff.items),
		Unschedulable: q.unschedulable.size, Gated: q.gated.size, InFlight: q.inFlight}
}

// NextToAudit is a waiting pod that speaks for all of its kind, of which none was
// woken; each kind in turn. ok is false when there is none.
func (q *Queue) NextToAudit() (uid string, plugins decision.PluginSet, ok bool) {
	groups := q.unschedulable.groups
	for range groups {
		if q.auditTurn++; q.auditTurn >= len(groups) {
			q.auditTurn = 0
		}
		if g := groups[q.auditTurn]; g.probe == nil {
			return g.members.head().UID, g.plugins, true
		}
	}
	return "", 0, false
}

// MissedWakeup wakes a sleeper that was found to fit.
func (q *Queue) MissedWakeup(now time.Time, uid string) {
	e, ok := q.pods[uid]
	if !ok || e.pool != Unschedulable || e.group.probe != nil {
		return
	}
	q.now = now
	g := e.group
	g.anyNode, g.cause = true, SelfAudit
	q.counts.MissedWakeups++
	q.startProbe(g)
}
