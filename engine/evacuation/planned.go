package evacuation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/budget/ledger"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// PlanOptions configure a Planned.
type PlanOptions struct {
	// Holds reports whether the API server serves Holds. Without them, the backoff of a move is kept in memory only.
	// SetHoldsServed changes it.
	Holds bool
	// Profiles are the scheduler profiles by scheduler name. Seed breaks ties between nodes of equal score.
	Profiles map[string]*framework.Profile
	Seed     uint64
	// Backoff records failed moves. Plans must be made with the same MoveBackoff.
	Backoff  *planning.MoveBackoff
	Timeouts Timeouts
	// Parallel is the number of moves of different workloads that may be in progress with reserved nodes; 0 means 16. A
	// move without a reservation runs alone: it starts when all moved pods are deleted, and blocks other moves until its
	// replacement is scheduled.
	Parallel int
}

// Planned is a machine that executes the plans of the descheduler. Create it with NewPlanned.
type Planned struct {
	*Machine
	o            PlanOptions
	ended        []*Move              // moves of earlier plans whose pods may still be terminating
	plannedAt    time.Time            // when the plan was set
	releaseRetry map[string]time.Time // the Holds being deleted, by key and victim, and when to retry
	step         plannedStep
}

// planState is the state of a planned move.
type planState struct {
	hold              *model.Hold // the reservation, or nil
	holdCreated       bool        // the reservation was created
	placementFailures uint        // number of failed placement checks
	deniedSince       time.Time   // since when a budget or the API server refuses the move
	recorded          bool        // the outcome was recorded in the backoff
}

// plannedStep is the state of one call of Step.
type plannedStep struct {
	movesByOwner    map[string]*Move  // moves in progress by owner
	stopped         map[string]string // why no further pods of an owner are moved by this plan
	unplaced        int               // moves in progress whose replacement is unscheduled
	exclusive       bool              // a move in progress has no reservation and must run alone
	terminating     bool              // a moved pod is still terminating although its replacement is scheduled
	placementChecks int               // number of placement checks
	cleaned         int               // number of finished pods to delete
	ledger          *ledger.Ledger
	forks           [2]*clusterForks // by planning.Mode
}

// NewPlanned returns a machine without a plan.
func NewPlanned(v *View, o PlanOptions) *Planned {
	if o.Parallel == 0 {
		o.Parallel = 16
	}
	if o.Timeouts == (Timeouts{}) {
		o.Timeouts = PlanTimeouts()
	}
	if o.Backoff == nil {
		o.Backoff = planning.NewMoveBackoff()
	}
	d := &Planned{o: o, releaseRetry: map[string]time.Time{}}
	d.Machine = newMachine(d, o.Timeouts, v)
	return d
}

// SetHoldsServed sets whether the API server serves Holds.
func (d *Planned) SetHoldsServed(holds bool) { d.o.Holds = holds }

// SetPlan replaces all moves that are not in progress with the moves of p.
func (d *Planned) SetPlan(now time.Time, p *planning.Plan) {
	var remaining []*Move
	for _, x := range d.moves {
		switch {
		case x.inProgress():
			remaining = append(remaining, x)
		case x.Evicted() && !x.Cleanup():
			d.ended = append(d.ended, x)
		}
	}
	for _, x := range p.Moves {
		remaining = append(remaining, &Move{Pod: x.Pod, From: x.From, Planned: x, Since: now})
	}
	d.moves, d.plannedAt = remaining, now
	d.o.Backoff.DeleteExpired(now)
}

// HasInProgress reports whether a move is in progress. Waiting moves do not count; a new plan replaces them.
func (d *Planned) HasInProgress() bool { return slices.ContainsFunc(d.moves, (*Move).inProgress) }

// InProgress returns the moves in progress, for planning.Options and Snapshot.ApplyInProgress. Their replacements
// come from the view. The plan must be made on the same view.
func (d *Planned) InProgress() (out []descheduling.InProgressMove) {
	for _, x := range d.moves {
		if x.inProgress() {
			out = append(out, descheduling.InProgressMove{Pod: x.Pod, Details: x.Planned.Details, To: x.Planned.To, Replacement: d.currentReplacement(x), Hold: x.hold})
		}
	}
	return out
}

// currentReplacement returns the replacement that the view contains, or nil.
func (d *Planned) currentReplacement(x *Move) *model.Pod {
	if victim := d.view.Pod(x.Pod.UID); x.Stage < Terminating && victim != nil && !victim.Deleting {
		return nil
	}
	current := *x
	if current.Replacement != nil {
		current.Replacement = d.view.Pod(current.Replacement.UID)
	}
	return current.findReplacement(d.view, nil)
}

// prepare implements policy: it continues moves whose Hold is created and observed.
func (d *Planned) prepare(t *step) {
	d.step = plannedStep{}
	for _, x := range d.moves {
		if x.Stage == Holding {
			d.awaitHold(t, x)
		}
	}
}

// begin implements policy.
func (d *Planned) begin(t *step) {
	for _, x := range d.moves {
		d.extendHold(t, x)
	}
	d.releaseHolds(t)
	d.countMoves()
	for _, x := range d.moves {
		if x.Stage == Waiting {
			d.beginMove(t, x)
		}
	}
}

func (d *Planned) countMoves() {
	s := &d.step
	s.movesByOwner, s.stopped = map[string]*Move{}, map[string]string{}
	for _, x := range d.moves {
		if x.inProgress() {
			d.countInProgress(x)
		} else if d.isTerminating(x) {
			s.terminating = true
		}
		if reason := x.stopReason(); reason != "" && x.Pod.Owner.UID != "" {
			s.stopped[x.Pod.Owner.UID] = reason
		}
	}
	d.ended = slices.DeleteFunc(d.ended, func(x *Move) bool { return !d.isTerminating(x) })
	s.terminating = s.terminating || len(d.ended) > 0
}

// isTerminating reports whether a move has finished while its pod still terminates. A scheduler that ignores Holds could
// give the capacity that becomes free to any pending pod.
func (d *Planned) isTerminating(x *Move) bool {
	if x.Stage != Finished || !x.Evicted() || x.Cleanup() {
		return false
	}
	p := d.view.Pod(x.Pod.UID)
	return p != nil && p.Deleting
}

func (d *Planned) countInProgress(x *Move) {
	if x.Cleanup() {
		return
	}
	s := &d.step
	s.movesByOwner[x.Pod.Owner.UID] = x
	if x.Stage < Placed {
		s.unplaced++
		s.exclusive = s.exclusive || x.Planned.Mode == planning.WithoutHolds
	} else if !x.Deleted() {
		s.terminating = true
	}
}

// stopReason returns why this plan must not move further pods of the workload, or "".
func (x *Move) stopReason() string {
	switch x.Outcome {
	case Returned, NotReady, Unscheduled, NotReplaced:
		return fmt.Sprintf("the move of another pod of its workload, %s, failed: %s", x.Pod.Key(), x.Reason)
	}
	return ""
}

// openLedger returns the ledger, which it opens once per Step: the observed budgets, less evictions that are requested
// or granted and not yet observed.
func (d *Planned) openLedger(t *step) *ledger.Ledger {
	if d.step.ledger != nil {
		return d.step.ledger
	}
	pods := map[string][]*model.Pod{}
	d.step.ledger = ledger.New(ledger.Rules, d.view.State.Budgets, func(covering []*model.Budget) []*model.Pod {
		namespace := covering[0].Namespace
		if pods[namespace] == nil {
			pods[namespace] = d.view.InNamespace(namespace)
		}
		return pods[namespace]
	})
	for _, x := range d.moves {
		if x.Cleanup() || !x.inProgress() || x.Stage > Terminating || x.Stage == Evicting && !x.requested {
			continue
		}
		if p := d.view.Pod(x.Pod.UID); p != nil && !p.Deleting {
			d.debit(t, x)
		}
	}
	return d.step.ledger
}

// debit implements policy: it debits all budgets of the pod.
func (d *Planned) debit(t *step, x *Move) {
	if x.Cleanup() {
		return
	}
	l := d.openLedger(t)
	l.Debit(t.now, x.Pod, ledger.Names(l.Covering(x.Pod)))
}

// deniedByBudget returns why a budget refuses the eviction of a pod, or "".
func (d *Planned) deniedByBudget(t *step, p *model.Pod) string {
	if v := d.openLedger(t).Check(t.now, p); v.Result != budget.Granted {
		return v.Reason
	}
	return ""
}

// check implements policy.
func (d *Planned) check(t *step, x *Move) (reason string, final bool) {
	if reason := d.holdInvalid(t, x); reason != "" {
		return reason, true
	}
	if x.Cleanup() {
		return "", false
	}
	return cmp.Or(d.deniedByBudget(t, d.view.Pod(x.Pod.UID)), d.blockedByWorkload(t, x)), false
}

// withdraw implements policy.
func (d *Planned) withdraw(now time.Time, x *Move, reason string, permanent bool) {
	if permanent {
		x.end(now, Abandoned, reason)
		return
	}
	x.reset(now, reason, withdrawalDelay)
	x.hold, x.holdCreated, x.refusal = nil, false, ""
}
