package evacuation

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget/ledger"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// Drain is a machine that drains nodes. Create it with NewDrain.
type Drain struct {
	*Machine
	o        DrainOptions
	nodes    []string
	profiles map[string]profiles.Profile // by scheduler name
	placers  map[string]profiles.Placer  // on the view's state, by scheduler name

	byUID            map[string]*Move
	round            int              // number of rounds with an eviction
	iteration        int              // number of all rounds
	ledger           *ledger.Ledger   // of the round; nil between rounds
	ready            map[string]bool  // UIDs of the pods that were Ready at the start of the round; others count in the next round
	evicted          int              // in this round
	evictedByOwner   map[string]*Move // moves of this round by owner UID
	current          *Move            // the move whose eviction is in progress, or nil
	awaitTermination bool             // a pod tolerates the cordon, so that each termination may affect placement
	started          bool             // a round has begun
	acted            bool             // this round took an action
	idle             bool             // see Idle
	pendingTracker   pendingTracker
	stuckPods        map[string]bool      // pending pods that seem to fit
	staleSince       map[string]time.Time // when a budget's status was first observed to be outdated, by key
	surges           map[string]*surge    // by owner UID
	currentSurge     *surge               // the surge being awaited
}

// drainState is the state of a move of a drain.
type drainState struct {
	// Round is the round of the eviction, 0 before. Surged is set if the owner ran an additional replica for the
	// eviction.
	Round  int
	Surged bool
	// FirstBlock is the first block of the move, Block the current one; nil if there is none.
	FirstBlock, Block *Block

	lastTried          int        // last iteration in which it was tried
	blocksSiblings     bool       // another client deletes the pod; siblings wait for its deletion
	awaitTermination   bool       // the pod's termination may affect placement
	readyTimedOut      bool       // the replacement was not Ready in time
	refusedPermanently bool       // the refusal is permanent
	surgePod           *model.Pod // Action.SurgePod
}

// NewDrain returns a machine that drains nodes. The profiles are those of all schedulers; zero timeouts mean
// DrainTimeouts.
func NewDrain(v *View, nodes []string, o DrainOptions, t Timeouts, schedulers []profiles.Profile) *Drain {
	if t == (Timeouts{}) {
		t = DrainTimeouts()
	}
	d := &Drain{o: o, nodes: slices.Clone(nodes), profiles: map[string]profiles.Profile{}, placers: map[string]profiles.Placer{}, byUID: map[string]*Move{},
		stuckPods: map[string]bool{}, staleSince: map[string]time.Time{}, surges: map[string]*surge{}}
	d.Machine = newMachine(d, t, v)
	for _, f := range schedulers {
		d.profiles[f.Name], d.placers[f.Name] = f, f.NewPlacer(v.State)
	}
	return d
}

// Nodes returns the nodes to drain.
func (d *Drain) Nodes() []string { return d.nodes }

// Round returns the number of the current round.
func (d *Drain) Round() int { return d.round }

// Done reports whether all pods to evict are deleted.
func (d *Drain) Done() bool {
	return d.started && d.idle && !slices.ContainsFunc(d.moves, func(x *Move) bool { return !x.Deleted() })
}

// Idle reports whether nothing is in progress: the remaining pods are blocked, and only a change of the cluster can
// help.
func (d *Drain) Idle() bool { return d.idle }

// Skipped returns why the drain does not evict a pod.
func (d *Drain) Skipped(p *model.Pod) SkipReason { return d.o.skipReason(p) }

// prepare observes pods that another client deletes.
func (d *Drain) prepare(t *step) {
	d.idle = false
	for _, x := range d.moves {
		if x.Stage != Waiting {
			continue
		}
		switch p := d.view.Pod(x.Pod.UID); {
		case p == nil || p.Deleting:
			x.setEvicted(t.now)
		default:
			x.Pod = p
		}
	}
}

// begin implements policy. It emits at most one action.
func (d *Drain) begin(t *step) {
	d.observeTerminating()
	for _, s := range d.surges {
		d.observeSurge(t, s)
	}
	d.pendingTracker.observe(t.now, d.view)
	for len(t.actions) == 0 && d.advance(t) {
	}
}

// advance emits the next action, or ends a wait that is over. It returns false if the drain has to wait.
func (d *Drain) advance(t *step) bool {
	if s := d.currentSurge; s != nil {
		if !d.surgeSettled(t, s) {
			return false
		}
		d.currentSurge = nil
		d.endSurge(s.move)
	}
	if d.surgeDown(t) {
		return true
	}
	if x := d.current; x != nil {
		if x.Stage == Evicting || !d.isSettled(t, x) {
			return false
		}
		d.current = nil
	}
	if d.ledger == nil && !d.beginRound(t) {
		return false
	}
	if d.takeNext(t) {
		return true
	}
	if d.roundInProgress() {
		return false
	}
	d.ledger = nil
	if d.acted {
		return true
	}
	d.idle = !d.anyTerminating()
	for _, x := range d.moves {
		if x.Stage == Waiting && !x.refusedPermanently {
			t.wakeAt(x.notBefore)
		}
	}
	return false
}

// check implements policy: a refused eviction is only retried.
func (d *Drain) check(*step, *Move) (reason string, final bool) { return "", false }

// withdraw implements policy. The move is tried again in a later round; its surge may be undone by then.
func (d *Drain) withdraw(now time.Time, x *Move, reason string, permanent bool) {
	x.reset(now, reason, withdrawalDelay)
	x.Round, x.Surged, x.surgePod, x.refusedPermanently = 0, false, nil, permanent
	if x.refusal != "" {
		x.Block = x.apiServerBlock()
		d.evicted--
	}
	d.current = nil
}

// fail implements policy. It ends a move whose pod has no replacement.
func (d *Drain) fail(t *step, x *Move, o Outcome, reason string) { x.end(t.now, o, reason) }

// observePlaced implements policy. The move never finishes, since the replacement may be preempted.
func (d *Drain) observePlaced(t *step, x *Move) {
	if x.Replacement.Ready {
		x.Since, x.readyTimedOut = t.now, false
		return
	}
	x.readyTimedOut = t.isOver(x.Since, d.timeouts.Ready)
}

// collectPods collects the pods to evict, the highest priority first. It skips replacements. After the start it also
// skips new pods that tolerate the cordon.
func (d *Drain) collectPods(now time.Time) {
	replacements := map[string]bool{}
	for _, x := range d.moves {
		if x.Replacement != nil {
			replacements[x.Replacement.UID] = true
		}
	}
	for _, n := range d.nodes {
		for _, p := range d.view.PodsOn(n) {
			if d.byUID[p.UID] != nil || replacements[p.UID] || d.o.skipReason(p) != NotSkipped || d.o.missingFlag(p) != "" || d.started && toleratesCordon(p) {
				continue
			}
			x := &Move{Pod: p, From: n}
			if p.Deleting {
				x.setEvicted(now)
			}
			d.moves, d.byUID[p.UID] = append(d.moves, x), x
		}
	}
	slices.SortStableFunc(d.moves, func(a, b *Move) int {
		if c := order.TrueFirst(a.Round > 0, b.Round > 0); c != 0 || a.Round > 0 {
			return c
		}
		return cmp.Or(cmp.Compare(b.Pod.Spec.Priority, a.Pod.Spec.Priority), cmp.Compare(a.Pod.Key(), b.Pod.Key()))
	})
	d.observeTerminating()
	d.awaitTermination = d.awaitTermination || d.anyToleratesCordon()
}

// anyToleratesCordon reports whether a pod to evict or a pending pod tolerates the cordon.
func (d *Drain) anyToleratesCordon() bool {
	return slices.ContainsFunc(d.moves, func(x *Move) bool { return toleratesCordon(x.Pod) }) ||
		slices.ContainsFunc(d.view.Pending(), toleratesCordon)
}
