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
	// Cares says which changes can undo a rejection by these rules, for pods
	// without a Kind. Nil: any change.
	Cares func(decision.RuleSet) decision.Change
	// Kind says what a waiting pod has in common with others: pods of equal keys are
	// decided alike. The key must be comparable. Nil, or a nil Kind: the pod is alone.
	Kind func(uid string) (key any, k Kind)
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
	flight   flight
	found    []*group // scratch

	now      time.Time // the latest instant that the queue was told
	flush    time.Time // when leftovers are looked for next; zero while nobody waits
	turn     int       // of the group that is audited next
	counts   Counts
	arrivals [numPools][numCauses]uint64
	delta    decision.Delta // the change that is being told
}

// Counts are what happened so far.
type Counts struct {
	// Flushed is how many pods got a node after they were tried as leftovers,
	// without a change that had woken them.
	Flushed uint64
	// Missed is how many pods were found to fit though no change had woken them.
	Missed uint64
	// Lulled is how many pods that a change had woken went back to sleep without
	// a decision, as what had changed was gone when it was their turn.
	Lulled uint64
}

// New makes an empty queue.
func New(cfg Config) *Queue {
	if cfg.Cares == nil {
		cfg.Cares = func(decision.RuleSet) decision.Change { return decision.AnyChange }
	}
	return &Queue{cfg: cfg, pods: map[string]*entry{}, unschedulable: newPool(), gated: newPool(),
		active: heap{before: byRank}, backoff: heap{before: byWindow}, errors: heap{before: byWindow}}
}

// Counts are what happened so far.
func (q *Queue) Counts() Counts { return q.counts }

// kindOf is the pod's key and kind.
func (q *Queue) kindOf(uid string) (any, Kind) {
	if q.cfg.Kind != nil {
		if key, k := q.cfg.Kind(uid); k != nil {
			return key, k
		}
	}
	return uid, anyKind(q.cfg.Cares)
}

// Enter takes in a new pod as active. A pod that is there already is updated.
func (q *Queue) Enter(now time.Time, p Pod) {
	if _, ok := q.pods[p.UID]; ok {
		q.Update(now, p, false)
		return
	}
	q.now = now
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
	q.now = now
	e.Pod, e.entered, e.rules = p, now, decision.RuleSet(0).With(rule)
	q.put(e, Gated, PodAdd)
	q.pass(e)
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
	q.now = now
	e.same = false
	if moves && e.pool != Unschedulable && e.pool != Gated {
		q.pass(e) // it does not speak for the others any more
	}
	switch e.pool {
	case Active:
		e.Pod = p
		q.active.fix(e.at)
	case Backoff:
		e.Pod = p
		q.backoff.fix(e.at)
	case Errors:
		e.Pod = p
		q.errors.fix(e.at)
	case InFlight:
		e.Pod = p
		e.edited = e.edited || moves
	case Unschedulable, Gated:
		q.updateWaiting(e, p, moves)
	}
}

// updateWaiting takes in a change of a pod in a pool; it may be of another kind now.
func (q *Queue) updateWaiting(e *entry, p Pod, moves bool) {
	pool, rules, cause := e.pool, e.rules, PodUpdate
	if pool == Unschedulable {
		rules |= e.group.rules
		if e.group.probe != nil { // it may not be spoken for any more
			moves, cause = true, e.group.cause
		}
	}
	q.take(e)
	e.Pod = p
	switch {
	case moves && pool == Gated:
		q.wake(e, pool, GatesGone)
	case moves:
		q.wake(e, pool, cause)
	default:
		q.join(e, pool, rules)
	}
}

// Remove forgets a pod: it is bound, deleted, or no longer ours.
func (q *Queue) Remove(uid string) {
	if e, ok := q.pods[uid]; ok {
		q.take(e)
		delete(q.pods, uid)
		q.pass(e)
	}
}

// Where says where a pod is.
func (q *Queue) Where(uid string) Pool {
	if e, ok := q.pods[uid]; ok {
		return e.pool
	}
	return Nowhere
}
