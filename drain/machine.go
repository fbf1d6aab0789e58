package drain

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// Machine decides the next action of a drain. Create it with New. It is not safe for
// concurrent use.
type Machine struct {
	o        Options
	timeouts Timeouts
	nodes    []string
	// placers decide placements on the view's state, by scheduler name.
	placers  map[string]profiles.Placer
	profiles map[string]profiles.Profile

	moves            []*Move // evicted pods first
	byUID            map[string]*Move
	round            int              // number of rounds with an eviction
	iteration        int              // number of all rounds
	ledger           *budgetLedger    // of the round; nil between rounds
	evicted          int              // in this round
	evictedByOwner   map[string]*Move // moves of this round by owner UID
	current          *Move            // the move whose eviction is in progress, or nil
	awaitTermination bool             // a pod tolerates the cordon, so that each termination may affect placement
	started          bool             // a round has begun
	idle             bool             // see Idle
	pendingTracker   pendingTracker
	staleSince       map[string]time.Time // when a budget's status was first observed to be outdated, by key
	surges           map[string]*surge    // by owner UID
	currentSurge     *surge               // the surge being awaited
	acted            bool                 // this round took an action
	stuckPods        map[string]bool      // pending pods that seem to fit
}

// New returns a machine that drains the nodes.
func New(nodes []string, o Options, t Timeouts, s *Scheduler, v *View) *Machine {
	placers, profilesByName := map[string]profiles.Placer{}, map[string]profiles.Profile{}
	for _, f := range s.machineConfig().Profiles {
		placers[f.Name], profilesByName[f.Name] = f.NewPlacer(v.State), f
	}
	return &Machine{o: o, timeouts: t, nodes: slices.Clone(nodes), placers: placers, profiles: profilesByName, byUID: map[string]*Move{},
		staleSince: map[string]time.Time{}, surges: map[string]*surge{}, stuckPods: map[string]bool{}}
}

// Moves returns the pods to evict: evicted pods in the order of eviction, then the others in
// the planned order.
func (m *Machine) Moves() []*Move { return m.moves }

// Round returns the number of the current round.
func (m *Machine) Round() int { return m.round }

// Done reports whether all pods to evict are deleted.
func (m *Machine) Done() bool {
	return m.started && m.idle && !slices.ContainsFunc(m.moves, func(x *Move) bool { return !x.Deleted() })
}

// Idle reports whether nothing is in progress: the remaining pods are blocked, and only a
// change of the cluster can help.
func (m *Machine) Idle() bool { return m.idle }

// Step returns the next action, or nil and when to call it again at the latest; zero means
// after a change only. Call it after every change of the view and after HandleEviction and
// HandleSurge.
func (m *Machine) Step(now time.Time, v *View) (Action, time.Time) {
	m.idle = false
	m.observe(now, v)
	for {
		if s := m.currentSurge; s != nil {
			if wake, settled := m.settledSurge(now, v, s); !settled {
				return nil, wake
			}
			m.currentSurge = nil
			m.endSurge(s.move)
		}
		if a := m.surgeDown(now); a != nil {
			return a, time.Time{}
		}
		if c := m.current; c != nil {
			if c.stage == requested {
				return nil, time.Time{}
			}
			if at := c.retryUntil(m.timeouts); now.Before(at) {
				if now.Before(c.retryAfter) {
					return nil, c.retryAfter
				}
				c.setStage(requested, now)
				return m.evictAction(c), time.Time{}
			}
			if wake, settled := m.settled(now, v, c); !settled {
				return nil, wake
			}
			m.current = nil
		}
		if m.ledger == nil {
			if wake, ok := m.beginRound(now, v); !ok {
				return nil, wake
			}
		}
		if a := m.nextAction(now, v); a != nil {
			return a, time.Time{}
		}
		if wake, inProgress := m.roundInProgress(now); inProgress {
			return nil, wake
		}
		m.ledger = nil
		if !m.acted {
			m.idle = !m.anyTerminating()
			return nil, m.nextRetry(now)
		}
	}
}

// Action is what the caller must do: Evict, SurgeUp or SurgeDown.
type Action interface{ action() }

// Evict requests the eviction of a pod; HandleEviction must follow.
type Evict struct {
	Pod *model.Pod
	// SurgePod is the pod that already replaces Pod because of a surge, or nil. The caller must
	// announce it to the owner before the eviction.
	SurgePod *model.Pod
}

func (Evict) action() {}

// EvictionResult is the result of an eviction. A pod that no longer exists counts as granted.
type EvictionResult struct {
	Granted   bool
	Message   string // why it was refused
	Permanent bool   // a retry fails unless the cluster changes
}

// HandleEviction handles the result of the last Evict action.
func (m *Machine) HandleEviction(now time.Time, uid string, result EvictionResult) {
	x := m.byUID[uid]
	if x == nil || x.stage != requested {
		return
	}
	if result.Granted {
		x.refusal, x.Block, x.firstRefused = "", nil, time.Time{}
		x.setStage(granted, now)
		return
	}
	x.setStage(waiting, now)
	if x.firstRefused.IsZero() {
		x.firstRefused = now
	}
	x.refusal, x.retryAfter, x.refusedPermanently = result.Message, now.Add(retryInterval), result.Permanent
	if result.Permanent || !now.Before(x.retryUntil(m.timeouts)) {
		x.withdraw()
		x.retryAfter = now.Add(roundRetryInterval)
		x.Block = x.apiServerBlock()
		m.evicted--
		m.current = nil
	}
}

// Retry intervals of a refused eviction, in the same round and afterwards.
const (
	retryInterval      = time.Second
	roundRetryInterval = 5 * time.Second
)

// retryUntil returns until when an eviction is retried that the API server refused although
// the budgets seem to allow it, or zero.
func (m *Move) retryUntil(t Timeouts) time.Time {
	if m.stage != waiting || m.firstRefused.IsZero() {
		return time.Time{}
	}
	return m.firstRefused.Add(t.Budgets)
}

// withdraw defers a move to a later round. Its surge may be undone by then.
func (m *Move) withdraw() {
	m.Round, m.existing, m.firstRefused = 0, nil, time.Time{}
	m.Surged, m.Replacement = false, nil
}

// nextRetry returns when a refused eviction may be retried, or zero.
func (m *Machine) nextRetry(now time.Time) (at time.Time) {
	for _, x := range m.moves {
		if x.stage == waiting && !x.refusedPermanently && x.retryAfter.After(now) && (at.IsZero() || x.retryAfter.Before(at)) {
			at = x.retryAfter
		}
	}
	return at
}

func (m *Machine) observe(now time.Time, v *View) {
	assigned := map[string]bool{}
	for _, x := range m.moves {
		if x.Replacement != nil {
			assigned[x.Replacement.UID] = true
		}
	}
	for _, x := range m.moves {
		x.observe(now, v, m.timeouts, assigned)
	}
	m.observeTerminating(v)
	for _, s := range m.surges {
		s.observe(now, v, m.timeouts)
	}
	m.pendingTracker.observe(now, v)
}

// beginRound starts a round when the scheduler is idle: it collects the pods and opens the
// ledger.
func (m *Machine) beginRound(now time.Time, v *View) (wake time.Time, ok bool) {
	m.collectPods(v)
	if wake, idle := m.schedulerIdle(now, v); !idle {
		return wake, false
	}
	if wake, current := m.budgetsCurrent(now, v); !current {
		return wake, false
	}
	m.iteration++
	m.evicted, m.acted, m.started, m.evictedByOwner = 0, false, true, map[string]*Move{}
	m.ledger = newBudgetLedger(v)
	return time.Time{}, true
}

// collectPods collects the pods to evict, the highest priority first. Replacements, and pods
// that arrived later by tolerating the cordon, are skipped.
func (m *Machine) collectPods(v *View) {
	replacements := map[string]bool{}
	for _, x := range m.moves {
		if x.Replacement != nil {
			replacements[x.Replacement.UID] = true
		}
	}
	for _, n := range m.nodes {
		for _, p := range v.podsOn(n) {
			if m.byUID[p.UID] != nil || replacements[p.UID] || m.o.skipReason(p) != NotSkipped || m.o.missingFlag(p) != "" || m.started && toleratesCordon(p) {
				continue
			}
			x := &Move{Pod: p, Node: n}
			if p.Deleting {
				x.stage = granted
			}
			m.moves, m.byUID[p.UID] = append(m.moves, x), x
		}
	}
	slices.SortStableFunc(m.moves, func(a, b *Move) int {
		if d := cmp.Compare(boolInt(a.Round == 0), boolInt(b.Round == 0)); d != 0 || a.Round != 0 {
			return d
		}
		return cmp.Or(cmp.Compare(b.Pod.Spec.Priority, a.Pod.Spec.Priority), cmp.Compare(a.Pod.Key(), b.Pod.Key()))
	})
	m.observeTerminating(v)
	m.awaitTermination = m.awaitTermination || m.anyToleratesCordon(v)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// anyToleratesCordon reports whether a pod to evict or a pending pod tolerates the cordon.
func (m *Machine) anyToleratesCordon(v *View) bool {
	return slices.ContainsFunc(m.moves, func(x *Move) bool { return toleratesCordon(x.Pod) }) ||
		slices.ContainsFunc(v.Pending(), toleratesCordon)
}

// roundInProgress reports whether the round waits for its moves, and until when at most.
func (m *Machine) roundInProgress(now time.Time) (wake time.Time, inProgress bool) {
	for _, x := range m.moves {
		if x.complete() {
			continue
		}
		inProgress = true
		at := x.deadline(m.timeouts)
		if at.After(now) && (wake.IsZero() || at.Before(wake)) {
			wake = at
		}
	}
	for _, s := range m.surges {
		if !s.awaitsReady() {
			continue
		}
		inProgress = true
		if at := s.placedAt.Add(m.timeouts.Ready); !s.placedAt.IsZero() && at.After(now) && (wake.IsZero() || at.Before(wake)) {
			wake = at
		}
	}
	return wake, inProgress
}

// deadline returns when the round stops waiting for a move, or zero.
func (m *Move) deadline(t Timeouts) time.Time {
	switch {
	case !m.placedAt.IsZero():
		return m.placedAt.Add(t.Ready)
	case m.Deleted() && m.Replacement == nil:
		return m.deletedAt.Add(t.Replacement)
	}
	return time.Time{}
}
