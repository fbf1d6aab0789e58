package queue

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// Config is the queue's policy.
type Config struct {
	InitialBackoff           time.Duration // 0: no back-off
	MaxBackoff               time.Duration
	FlushInterval            time.Duration // how often leftovers are looked for
	MaxUnschedulableDuration time.Duration // how long a pod may wait without any change
	// EventsToRegister says which changes can undo a rejection by these rules, for pods
	// without a Kind. Nil: any change.
	EventsToRegister func(decision.PluginSet) decision.ClusterEvents
	// QueueingHints says what a waiting pod has in common with others: pods of equal keys are
	// decided alike. The key must be comparable. Nil, or a nil Kind: the pod is alone.
	QueueingHints func(uid string) (key any, k QueueingHints)
}

// DefaultConfig is kube-scheduler's policy.
func DefaultConfig() Config {
	return Config{InitialBackoff: time.Second, MaxBackoff: 10 * time.Second, FlushInterval: 30 * time.Second, MaxUnschedulableDuration: 5 * time.Minute}
}

// Queue holds all pods that have no node yet. It is a plain value of its
// owner: no lock, no clock.
type Queue struct {
	cfg  Config
	pods map[string]*entry // by uid; never ranged over

	active, backoff, errorBackoff heap
	unschedulable, gated          pool

	inFlight int
	events   inFlightEvents
	scratch  []*group // scratch

	now       time.Time // the latest instant that the queue was told
	nextFlush time.Time // when leftovers are looked for next; zero while nobody waits
	auditTurn int       // of the group that is audited next
	counts    Counts
	incoming  [numPools][numCauses]uint64
	delta     decision.Delta // the change that is being told
}

// Counts are what happened so far.
type Counts struct {
	// Flushed is how many pods got a node after they were tried as leftovers,
	// without a change that had woken them.
	Flushed uint64
	// MissedWakeups is how many pods were found to fit though no change had woken them.
	MissedWakeups uint64
	// StaleWakeups is how many pods that a change had woken went back to sleep without
	// a decision, as what had changed was gone when it was their turn.
	StaleWakeups uint64
}

// New makes an empty queue.
func New(cfg Config) *Queue {
	if cfg.EventsToRegister == nil {
		cfg.EventsToRegister = func(decision.PluginSet) decision.ClusterEvents { return decision.AnyEvent }
	}
	return &Queue{cfg: cfg, pods: map[string]*entry{}, unschedulable: newPool(), gated: newPool(),
		active: heap{less: lessByPriority}, backoff: heap{less: lessByBackoffWindow}, errorBackoff: heap{less: lessByBackoffWindow}}
}

// Counts are what happened so far.
func (q *Queue) Counts() Counts { return q.counts }

// hintsOf is the pod's key and kind.
func (q *Queue) hintsOf(uid string) (any, QueueingHints) {
	if q.cfg.QueueingHints != nil {
		if key, k := q.cfg.QueueingHints(uid); k != nil {
			return key, k
		}
	}
	return uid, alwaysQueue(q.cfg.EventsToRegister)
}

// Add takes in a new pod as active. A pod that is there already is updated.
func (q *Queue) Add(now time.Time, p Pod) {
	if _, ok := q.pods[p.UID]; ok {
		q.Update(now, p, false)
		return
	}
	q.now = now
	q.enqueue(q.newEntry(now, p), Active, PodAdd)
}

// AddGated takes in a pod that a rule holds back before the queue: a new one,
// or one in flight, whose attempt then does not count.
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
	q.passProbe(e)
}

func (q *Queue) newEntry(now time.Time, p Pod) *entry {
	e := &entry{Pod: p, firstEnqueued: now, timestamp: now}
	q.pods[p.UID] = e
	return e
}

// Update takes in a change of the pod itself. With moves the change may undo
// its rejection: the pod leaves the unschedulable pool or its gate.
func (q *Queue) Update(now time.Time, p Pod, moves bool) {
	e, ok := q.pods[p.UID]
	if !ok {
		return
	}
	q.now = now
	e.unchanged = false
	if moves && e.pool != Unschedulable && e.pool != Gated {
		q.passProbe(e) // it does not speak for the others any more
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
		e.edited = e.edited || moves
	case Unschedulable, Gated:
		q.updateWaiting(e, p, moves)
	}
}

// updateWaiting takes in a change of a pod in a pool; it may be of another kind now.
func (q *Queue) updateWaiting(e *entry, p Pod, moves bool) {
	pool, plugins, cause := e.pool, e.plugins, PodUpdate
	if pool == Unschedulable {
		plugins |= e.group.plugins
		if e.group.probe != nil { // it may not be spoken for any more
			moves, cause = true, e.group.cause
		}
	}
	q.dequeue(e)
	e.Pod = p
	switch {
	case moves && pool == Gated:
		q.requeueWaiting(e, pool, GatesRemoved)
	case moves:
		q.requeueWaiting(e, pool, cause)
	default:
		q.addToGroup(e, pool, plugins)
	}
}

// Remove forgets a pod: it is bound, deleted, or no longer ours.
func (q *Queue) Remove(uid string) {
	if e, ok := q.pods[uid]; ok {
		q.dequeue(e)
		delete(q.pods, uid)
		q.passProbe(e)
	}
}

// PoolOf says where a pod is.
func (q *Queue) PoolOf(uid string) Pool {
	if e, ok := q.pods[uid]; ok {
		return e.pool
	}
	return NotQueued
}
