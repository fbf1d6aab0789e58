package queue

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// Config is the queue's policy.
type Config struct {
	InitialBackoff time.Duration // 0: no back-off
	MaxBackoff     time.Duration
	FlushEvery     time.Duration // how often leftovers are looked for
	LeftoverAfter  time.Duration // how long a pod may wait without any change
	// Cares says which changes can undo a rejection by these rules. Nil: any change.
	Cares func(decision.RuleSet) decision.Change
}

// DefaultConfig is kube-scheduler's policy.
func DefaultConfig() Config {
	return Config{InitialBackoff: time.Second, MaxBackoff: 10 * time.Second, FlushEvery: 30 * time.Second, LeftoverAfter: 5 * time.Minute}
}

// Queue holds all pods that have no node yet. It is a plain value of its
// owner: no lock, no clock.
type Queue struct {
	cfg  Config
	pods map[string]*entry // by uid; never ranged over

	active, backoff, errors heap
	unschedulable, gated    pool

	inFlight int
	changes  uint64 // counted for pods in flight
	last     [decision.NumChanges]uint64

	flush    time.Time // when leftovers are looked for next; zero while nobody waits
	arrivals [numPools][numCauses]uint64
}

// New makes an empty queue.
func New(cfg Config) *Queue {
	if cfg.Cares == nil {
		cfg.Cares = func(decision.RuleSet) decision.Change { return decision.AnyChange }
	}
	return &Queue{cfg: cfg, pods: map[string]*entry{},
		active: heap{before: byRank}, backoff: heap{before: byWindow}, errors: heap{before: byWindow}}
}

// Enter takes in a new pod as active. A pod that is there already is updated.
func (q *Queue) Enter(now time.Time, p Pod) {
	if _, ok := q.pods[p.UID]; ok {
		q.Update(now, p, false)
		return
	}
	q.put(q.fresh(now, p), Active, PodAdd)
}

// EnterGated takes in a pod that a rule holds back before the queue: a new one,
// or one in flight, whose attempt then does not count.
func (q *Queue) EnterGated(now time.Time, p Pod, rule decision.Rule) {
	e, ok := q.pods[p.UID]
	if !ok {
		e = q.fresh(now, p)
	}
	if e.pool == InFlight {
		e.attempts--
	}
	q.take(e)
	e.Pod, e.entered, e.rules = p, now, decision.RuleSet(0).With(rule)
	q.put(e, Gated, PodAdd)
	q.startFlush(now)
}

func (q *Queue) fresh(now time.Time, p Pod) *entry {
	e := &entry{Pod: p, first: now, entered: now}
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
	e.Pod = p
	switch e.pool {
	case Active:
		q.active.fix(e.at)
	case Backoff:
		q.backoff.fix(e.at)
	case Errors:
		q.errors.fix(e.at)
	case InFlight:
		e.edited = e.edited || moves
	case Unschedulable, Gated:
		if moves {
			q.wake(now, e, PodUpdate)
		}
	}
}

// Remove forgets a pod: it is bound, deleted, or no longer ours.
func (q *Queue) Remove(uid string) {
	if e, ok := q.pods[uid]; ok {
		q.take(e)
		delete(q.pods, uid)
	}
}

// Next takes the pod that is to be tried now. When nobody is active, the head of the
// back-off is taken before its time, but never one that failed with an error.
// The pod is in flight until Reject, Fail, EnterGated or Remove.
func (q *Queue) Next(now time.Time) (Attempt, bool) {
	q.mature(now)
	e := q.active.head()
	if e == nil {
		e = q.backoff.head()
	}
	if e == nil {
		return Attempt{}, false
	}
	q.take(e)
	e.attempts++
	e.start, e.edited = q.changes, false
	e.pool = InFlight
	q.inFlight++
	return Attempt{Pod: e.Pod, Number: e.attempts, First: e.first}, true
}

// Reject takes back a pod that no node can take, with the rules that said so. If
// something that concerns them happened meanwhile, the pod only backs off.
func (q *Queue) Reject(now time.Time, uid string, rules decision.RuleSet) {
	e, ok := q.pods[uid]
	if !ok || e.pool != InFlight {
		return
	}
	q.take(e)
	e.rejections++
	e.failures = 0
	e.entered, e.rules = now, rules
	if e.edited || q.since(e.start)&q.cfg.Cares(rules) != 0 {
		q.ready(now, e, AttemptFailed)
		return
	}
	q.put(e, Unschedulable, AttemptFailed)
	q.startFlush(now)
}

// Fail takes back a pod whose attempt ended in an error.
func (q *Queue) Fail(now time.Time, uid string) {
	e, ok := q.pods[uid]
	if !ok || e.pool != InFlight {
		return
	}
	q.take(e)
	e.failures++
	e.entered = now
	q.ready(now, e, AttemptFailed)
}

// Changed wakes the pods whose rejection a change can undo.
func (q *Queue) Changed(now time.Time, c decision.Change) {
	if c == decision.NoChange {
		return
	}
	q.changes++
	for bit := range q.last {
		if c&(1<<bit) != 0 {
			q.last[bit] = q.changes
		}
	}
	for _, e := range q.unschedulable.concerned(c) {
		q.wake(now, e, causeOf(q.cfg.Cares(e.rules)&c))
	}
	for _, e := range q.gated.concerned(c) {
		q.wake(now, e, causeOf(q.cfg.Cares(e.rules)&c))
	}
}

// since is the kinds of changes that happened after the given count.
func (q *Queue) since(start uint64) decision.Change {
	var c decision.Change
	for bit, at := range q.last {
		if at > start {
			c |= 1 << bit
		}
	}
	return c
}
