package queue

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// Config configures a Queue.
type Config struct {
	InitialBackoff           time.Duration // 0: no backoff
	MaxBackoff               time.Duration
	FlushInterval            time.Duration // how often MaxUnschedulableDuration is checked
	MaxUnschedulableDuration time.Duration // after which an unschedulable pod is tried again without an event
	// EventsToRegister returns the events that may undo a rejection by plugins, for pods
	// without QueueingHints. Nil: all events.
	EventsToRegister func(decision.PluginSet) decision.ClusterEvents
	// QueueingHints returns the hints of a pod and a comparable key; pods with equal keys are
	// scheduled alike. If the function or the hints are nil, the pod is alone in its group.
	QueueingHints func(uid string) (key any, hints QueueingHints)
}

// DefaultConfig returns the configuration of kube-scheduler.
func DefaultConfig() Config {
	return Config{InitialBackoff: time.Second, MaxBackoff: 10 * time.Second, FlushInterval: 30 * time.Second, MaxUnschedulableDuration: 5 * time.Minute}
}

// Queue holds all pods without a node. It has no lock and no clock, so its owner must
// serialize calls and pass the time.
type Queue struct {
	cfg  Config
	pods map[string]*entry // by UID; never iterated to compute results, because map order is random

	active, backoff, errorBackoff heap
	unschedulable, gated          pool

	inFlight int
	events   inFlightEvents
	scratch  []*group // reused by HandleEvent

	now       time.Time // last time passed to a method
	nextFlush time.Time // zero if no pod waits
	auditTurn int       // index of the group to audit next
	counts    Counts
	incoming  [numPools][numCauses]uint64
	delta     decision.Delta // event being handled
}

// Counts are the counters of a Queue.
type Counts struct {
	// Flushed is the number of pods that were scheduled after the timeout, without an event.
	Flushed uint64
	// MissedWakeups is the number of unschedulable pods that an audit found to be schedulable.
	MissedWakeups uint64
	// StaleWakeups is the number of trial pods that returned to their group without an attempt.
	StaleWakeups uint64
}

// New returns an empty queue.
func New(cfg Config) *Queue {
	if cfg.EventsToRegister == nil {
		cfg.EventsToRegister = func(decision.PluginSet) decision.ClusterEvents { return decision.AnyEvent }
	}
	return &Queue{cfg: cfg, pods: map[string]*entry{}, unschedulable: newPool(), gated: newPool(),
		active: heap{less: lessByPriority}, backoff: heap{less: lessByBackoffWindow}, errorBackoff: heap{less: lessByBackoffWindow}}
}

// Counts returns the counters.
func (q *Queue) Counts() Counts { return q.counts }

// hintsOf returns the key and the hints of a pod.
func (q *Queue) hintsOf(uid string) (any, QueueingHints) {
	if q.cfg.QueueingHints != nil {
		if key, hints := q.cfg.QueueingHints(uid); hints != nil {
			return key, hints
		}
	}
	return uid, alwaysQueue(q.cfg.EventsToRegister)
}

// Add adds a new pod to the active pool, or updates an existing one.
func (q *Queue) Add(now time.Time, p Pod) {
	if _, ok := q.pods[p.UID]; ok {
		q.Update(now, p, false)
		return
	}
	q.now = now
	q.enqueue(q.newEntry(now, p), Active, PodAdd)
}

// AddGated adds a pod that a PreEnqueue plugin gates: a new pod, or one in flight. The attempt of a
// pod in flight does not count.
func (q *Queue) AddGated(now time.Time, p Pod, plugin decision.Plugin) {
	e, ok := q.pods[p.UID]
	if !ok {
		e = q.newEntry(now, p)
	}
	if e.pool == InFlight {
		e.attempts--
	}
	q.dequeue(e)
	q.now = now
	e.Pod, e.timestamp, e.plugins = p, now, decision.PluginSet(0).With(plugin)
	q.enqueue(e, Gated, PodAdd)
	q.passTrial(e)
}

func (q *Queue) newEntry(now time.Time, p Pod) *entry {
	e := &entry{Pod: p, firstEnqueued: now, timestamp: now}
	q.pods[p.UID] = e
	return e
}

// Update updates a pod. If requeue is set, the update may undo the rejection of the pod,
// and the pod leaves the unschedulable or gated pool.
func (q *Queue) Update(now time.Time, p Pod, requeue bool) {
	e, ok := q.pods[p.UID]
	if !ok {
		return
	}
	q.now = now
	e.unchanged = false
	if requeue && e.pool != Unschedulable && e.pool != Gated {
		q.passTrial(e) // its attempt no longer represents the group
	}
	switch e.pool {
	case Active:
		e.Pod = p
		q.active.fix(e.index)
	case Backoff:
		e.Pod = p
		q.backoff.fix(e.index)
	case ErrorBackoff:
		e.Pod = p
		q.errorBackoff.fix(e.index)
	case InFlight:
		e.Pod = p
		e.updated = e.updated || requeue
	case Unschedulable, Gated:
		q.updateWaiting(e, p, requeue)
	}
}

// updateWaiting updates a pod in the unschedulable or gated pool; its group may change.
func (q *Queue) updateWaiting(e *entry, p Pod, requeue bool) {
	pool, plugins, cause := e.pool, e.plugins, PodUpdate
	if pool == Unschedulable {
		plugins |= e.group.plugins
		if e.group.trial != nil { // the trial pod may no longer represent this pod
			requeue, cause = true, e.group.cause
		}
	}
	q.dequeue(e)
	e.Pod = p
	switch {
	case requeue && pool == Gated:
		q.requeueWaiting(e, pool, GatesRemoved)
	case requeue:
		q.requeueWaiting(e, pool, cause)
	default:
		q.addToGroup(e, pool, plugins)
	}
}

// Remove removes a pod that is bound, deleted or no longer handled by this scheduler.
func (q *Queue) Remove(uid string) {
	if e, ok := q.pods[uid]; ok {
		q.dequeue(e)
		delete(q.pods, uid)
		q.passTrial(e)
	}
}

// PoolOf returns the pool of a pod.
func (q *Queue) PoolOf(uid string) Pool {
	if e, ok := q.pods[uid]; ok {
		return e.pool
	}
	return NotQueued
}
