package drain

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// Machine says what is to be done next to drain nodes. Make it with New. It is a plain value of
// its owner: one caller at a time.
type Machine struct {
	o        Options
	timeouts Timeouts
	nodes    []string
	// placers answer where a pod would go, by scheduler name, on the state of the view.
	placers  map[string]profiles.Placer
	profiles map[string]profiles.Profile

	moves            []*Move // those evicted first, then the others in their order
	byUID            map[string]*Move
	round            int              // in which something was evicted
	iteration        int              // counts rounds, those without an eviction, too
	ledger           *budgetLedger    // of the round; nil between rounds
	evicted          int              // in this round
	evictedByOwner   map[string]*Move // of each workload in this round, by owner
	current          *Move
	awaitTermination bool // somebody tolerates the cordon: each pod's end may be noticed
	started          bool
	idle             bool
	pendingTracker   pendingTracker
	staleSince       map[string]time.Time // budgets whose status is behind, since when
	surges           map[string]*surge    // by owner
	currentSurge     *surge               // that is waited for
	acted            bool                 // something was done in this round
	stuckPods        map[string]bool      // pods that wait though they would fit, as it seems
}

// New is a machine that drains nodes of what v shows.
func New(nodes []string, o Options, p Timeouts, s *Scheduler, v *View) *Machine {
	placers, profiles := map[string]profiles.Placer{}, map[string]profiles.Profile{}
	for _, f := range s.machineConfig().Profiles {
		placers[f.Name], profiles[f.Name] = f.NewPlacer(v.State), f
	}
	return &Machine{o: o, timeouts: p, nodes: slices.Clone(nodes), placers: placers, profiles: profiles, byUID: map[string]*Move{},
		staleSince: map[string]time.Time{}, surges: map[string]*surge{}, stuckPods: map[string]bool{}}
}

// Moves are the pods that are to leave: those that were evicted in the order in which
// they were, then the others in theirs.
func (m *Machine) Moves() []*Move { return m.moves }

// Round is the number of the present round.
func (m *Machine) Round() int { return m.round }

// Done says that all pods that are to leave have left.
func (m *Machine) Done() bool {
	return m.started && m.idle && !slices.ContainsFunc(m.moves, func(x *Move) bool { return !x.Gone() })
}

// Idle says that nothing is under way: what is still there is held, as its Block says, and
// only a change of the cluster can help.
func (m *Machine) Idle() bool { return m.idle }

// Step says what to do next: an action, or nil and when to call again at the latest (zero:
// only a change brings something to do). Step must be called again after every change of the
// view, and after Answer.
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
		if wake, under := m.roundInProgress(now); under {
			return nil, wake
		}
		m.ledger = nil
		if !m.acted {
			m.idle = !m.anyTerminating()
			return nil, m.nextRetry(now)
		}
	}
}

// Action is what is to be done: Evict, SurgeUp or SurgeDown.
type Action interface{ action() }

// Evict asks for a pod to be evicted; Answer must follow.
type Evict struct {
	Pod *model.Pod
	// SurgePod is the pod that its owner has made for it before, and which the owner is to know of; nil: none.
	SurgePod *model.Pod
}

func (Evict) action() {}

// EvictionResult is what became of an eviction that was asked for. A pod that was not there any
// more counts as granted.
type EvictionResult struct {
	Granted   bool
	Message   string // of a refusal
	Permanent bool   // it is no use to ask again before somebody changes something
}

// HandleEviction takes in what became of the eviction that Step asked for.
func (m *Machine) HandleEviction(now time.Time, uid string, a EvictionResult) {
	x := m.byUID[uid]
	if x == nil || x.stage != requested {
		return
	}
	if a.Granted {
		x.refusal, x.Block, x.firstRefused = "", nil, time.Time{}
		x.setStage(granted, now)
		return
	}
	x.setStage(waiting, now)
	if x.firstRefused.IsZero() {
		x.firstRefused = now
	}
	x.refusal, x.retryAfter, x.refusedPermanently = a.Message, now.Add(retryInterval), a.Permanent
	if a.Permanent || !now.Before(x.retryUntil(m.timeouts)) {
		x.withdraw()
		x.retryAfter = now.Add(roundRetryInterval)
		x.Block = x.apiServerBlock()
		m.evicted--
		m.current = nil
	}
}

// How long an eviction that the API server refused is not asked for again: in the same
// round, and after it.
const (
	retryInterval      = time.Second
	roundRetryInterval = 5 * time.Second
)

// retryUntil is until when an eviction is asked for again that was refused though the budgets
// seemed to allow it: one of them is behind. Zero: it was not refused.
func (x *Move) retryUntil(p Timeouts) time.Time {
	if x.stage != waiting || x.firstRefused.IsZero() {
		return time.Time{}
	}
	return x.firstRefused.Add(p.Budgets)
}

// withdraw has a move wait for another round: by then its surge may have been taken back.
func (x *Move) withdraw() {
	x.Round, x.before, x.firstRefused = 0, nil, time.Time{}
	x.Surged, x.Replacement = false, nil
}

// nextRetry is when a refused eviction may be asked for again; zero when there is none.
func (m *Machine) nextRetry(now time.Time) (at time.Time) {
	for _, x := range m.moves {
		if x.stage == waiting && !x.refusedPermanently && x.retryAfter.After(now) && (at.IsZero() || x.retryAfter.Before(at)) {
			at = x.retryAfter
		}
	}
	return at
}

// observe brings all moves up to date.
func (m *Machine) observe(now time.Time, v *View) {
	taken := map[string]bool{}
	for _, x := range m.moves {
		if x.Replacement != nil {
			taken[x.Replacement.UID] = true
		}
	}
	for _, x := range m.moves {
		x.observe(now, v, m.timeouts, taken)
	}
	m.observeTerminating(v)
	for _, s := range m.surges {
		s.observe(now, v, m.timeouts)
	}
	m.pendingTracker.observe(now, v)
}

// beginRound begins a round, once the cluster is at rest: what is to leave is collected, and
// the books are opened.
func (m *Machine) beginRound(now time.Time, v *View) (wake time.Time, ok bool) {
	m.collectPods(v)
	if wake, rests := m.schedulerIdle(now, v); !rests {
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

// collectPods takes up the pods on the drained nodes that are to leave, the most important
// first. Those that came later by tolerating the cordon, and replacements, are left alone.
func (m *Machine) collectPods(v *View) {
	ours := map[string]bool{}
	for _, x := range m.moves {
		if x.Replacement != nil {
			ours[x.Replacement.UID] = true
		}
	}
	for _, n := range m.nodes {
		for _, p := range v.podsOn(n) {
			if m.byUID[p.UID] != nil || ours[p.UID] || m.o.skipReason(p) != NotSkipped || m.o.missingFlag(p) != "" || m.started && toleratesCordon(p) {
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

// anyToleratesCordon says that a pod that is to leave, or one that waits, tolerates the cordon.
func (m *Machine) anyToleratesCordon(v *View) bool {
	return slices.ContainsFunc(m.moves, func(x *Move) bool { return toleratesCordon(x.Pod) }) ||
		slices.ContainsFunc(v.Pending(), toleratesCordon)
}

// roundInProgress says whether the round has to wait for what it began, and until when at most.
func (m *Machine) roundInProgress(now time.Time) (wake time.Time, under bool) {
	for _, x := range m.moves {
		if x.complete() {
			continue
		}
		under = true
		at := x.deadline(m.timeouts)
		if at.After(now) && (wake.IsZero() || at.Before(wake)) {
			wake = at
		}
	}
	for _, s := range m.surges {
		if !s.awaitsReady() {
			continue
		}
		under = true
		if at := s.placedAt.Add(m.timeouts.Ready); !s.placedAt.IsZero() && at.After(now) && (wake.IsZero() || at.Before(wake)) {
			wake = at
		}
	}
	return wake, under
}

// deadline is when a move is not waited for any more in its present state; zero: as long as it takes.
func (x *Move) deadline(p Timeouts) time.Time {
	switch {
	case !x.placedAt.IsZero():
		return x.placedAt.Add(p.Ready)
	case x.Gone() && x.Replacement == nil:
		return x.goneAt.Add(p.Replacement)
	}
	return time.Time{}
}
