package queue

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// PendingPod describes a pod in the queue.
type PendingPod struct {
	Pod
	Pool Pool
	// UnschedulablePlugins are the plugins of the last rejection, or of the gate; empty if the
	// pod was not tried yet.
	UnschedulablePlugins decision.PluginSet
	Attempts             int
	FirstEnqueued        time.Time // when the pod was first added
	Since                time.Time // time of the last attempt, or when the pod was added
	// BackoffEnd is when the backoff ends; zero if there is none.
	BackoffEnd time.Time
	GroupSize  int // number of pods in the group, including this one
}

// PendingPods calls yield with every pod, by pool and in queue order, until it returns
// false.
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

// Each calls yield with every pod in no particular order until it returns false.
func (q *Queue) Each(yield func(PendingPod) bool) {
	for _, e := range q.pods {
		if !yield(q.pendingPod(e)) {
			return
		}
	}
}

func (q *Queue) pendingPod(e *entry) PendingPod {
	p := PendingPod{Pod: e.Pod, Pool: e.pool, UnschedulablePlugins: e.plugins, Attempts: e.attempts, FirstEnqueued: e.firstEnqueued, Since: e.timestamp, GroupSize: 1}
	switch e.pool {
	case Backoff, ErrorBackoff:
		p.BackoffEnd = e.window.Add(backoffWindow)
	case Unschedulable, Gated:
		p.GroupSize = len(e.group.members.items)
	}
	return p
}

// Depths is the number of pods by pool.
type Depths struct{ Active, Backoff, Unschedulable, Gated, InFlight int }

// Depths returns the number of pods by pool.
func (q *Queue) Depths() Depths {
	return Depths{Active: len(q.active.items), Backoff: len(q.backoff.items) + len(q.errorBackoff.items),
		Unschedulable: q.unschedulable.size, Gated: q.gated.size, InFlight: q.inFlight}
}

// NextToAudit returns one unschedulable pod of the next group without a trial pod, in
// rotation. ok is false if there is none.
func (q *Queue) NextToAudit() (uid string, plugins decision.PluginSet, ok bool) {
	groups := q.unschedulable.groups
	for range groups {
		if q.auditTurn++; q.auditTurn >= len(groups) {
			q.auditTurn = 0
		}
		if g := groups[q.auditTurn]; g.trial == nil {
			return g.members.head().UID, g.plugins, true
		}
	}
	return "", 0, false
}

// MissedWakeup queues a pod that an audit found to be schedulable.
func (q *Queue) MissedWakeup(now time.Time, uid string) {
	e, ok := q.pods[uid]
	if !ok || e.pool != Unschedulable || e.group.trial != nil {
		return
	}
	q.now = now
	g := e.group
	g.anyNode, g.cause = true, SelfAudit
	q.counts.MissedWakeups++
	q.startTrial(g)
}
