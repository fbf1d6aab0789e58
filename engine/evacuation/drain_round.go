package evacuation

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/budget/ledger"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

// beginRound starts a round if the scheduler is idle and the statuses of the budgets are current. It reports whether it
// started one.
func (d *Drain) beginRound(t *step) bool {
	d.collectPods(t.now)
	if !d.schedulerIdle(t) || !d.budgetsCurrent(t) {
		return false
	}
	d.iteration++
	d.evicted, d.acted, d.started, d.evictedByOwner, d.ready = 0, false, true, map[string]*Move{}, map[string]bool{}
	for _, p := range d.view.All() {
		d.ready[p.UID] = p.Ready && !p.Deleting
	}
	budgets := map[string][]*model.Budget{}
	for _, b := range d.view.State.AllBudgets() {
		budgets[b.Namespace] = append(budgets[b.Namespace], b)
	}
	d.ledger = ledger.New(ledger.Rules, func(namespace string) []*model.Budget { return budgets[namespace] }, func(covering []*model.Budget) []*model.Pod {
		return slices.DeleteFunc(d.view.InNamespace(covering[0].Namespace), func(p *model.Pod) bool { return !d.ready[p.UID] })
	})
	return true
}

// takeNext takes the next action of the round. It returns false if there is none.
func (d *Drain) takeNext(t *step) bool {
	busy := d.busyOwners()
	for _, x := range d.moves {
		if x.Stage != Waiting || x.lastTried == d.iteration {
			continue
		}
		x.lastTried = d.iteration
		x.Block = d.findBlock(t.now, x, busy)
		if x.FirstBlock == nil {
			x.FirstBlock = x.Block
		}
		if x.Block == nil {
			d.evictPod(t, x)
			return true
		}
		d.recordFailedSurge(x)
		if d.surgeUp(t, x) {
			return true
		}
	}
	return false
}

// busyOwners returns the first move that each owner waits for, by owner UID. If a replacement was not Ready at the start
// of the round, its owner waits until the next round.
func (d *Drain) busyOwners() map[string]*Move {
	busy := map[string]*Move{}
	for _, x := range d.moves {
		if o := x.Pod.Owner.UID; o != "" && busy[o] == nil && (x.busy() || x.Replacement != nil && !d.ready[x.Replacement.UID]) {
			busy[o] = x
		}
	}
	return busy
}

// busy reports whether the workload waits for the move: its replacement is missing or not Ready, or it terminates and
// blocks siblings.
func (x *Move) busy() bool {
	switch {
	case x.Stage == Waiting:
		return false
	case x.AlreadyTerminating():
		return x.blocksSiblings
	case !x.Deleted():
		return true
	}
	return x.Stage != Finished && (x.Replacement == nil || !x.Replacement.Ready)
}

// complete reports whether the round no longer waits for the move.
func (x *Move) complete() bool {
	return !x.busy() || x.Deleted() && (x.Stage == Replaced || x.Stage == Placed && x.readyTimedOut)
}

// evictPod starts the eviction of a move.
func (d *Drain) evictPod(t *step, x *Move) {
	if d.evicted == 0 {
		d.round++
	}
	x.setStage(Evicting, t.now)
	x.Round, x.refusal, x.awaitTermination = d.round, "", d.awaitTermination || d.terminationMatters(x.Pod)
	d.useSurgePod(x)
	if o := x.Pod.Owner.UID; o != "" {
		d.evictedByOwner[o] = x
	}
	d.current = x
	d.evicted++
	d.acted = true
	t.evict(Action{Kind: Evict, Move: x, SurgePod: x.surgePod})
}

// debit implements policy. An eviction that is retried has an entry and is not debited again.
func (d *Drain) debit(t *step, x *Move) {
	d.ledger.Debit(t.now, x.Pod, ledger.Names(d.ledger.Check(t.now, x.Pod).Debits))
}

// findBlock returns the current block of a move, or nil.
func (d *Drain) findBlock(now time.Time, x *Move, busy map[string]*Move) *Block {
	p := x.Pod
	if b := cmp.Or(busy[p.Owner.UID], d.evictedByOwner[p.Owner.UID]); b != nil {
		return workloadBlock(b)
	}
	if x.refusal != "" && (x.refusedPermanently || x.notBefore.After(now)) {
		return x.apiServerBlock()
	}
	if v := d.ledger.Check(now, p); v.Result != budget.Granted {
		return d.budgetBlock(now, p, &v)
	}
	if toleratesCordon(p) {
		if n := d.returnsTo(p); n != "" {
			return &Block{Kind: ByReturn, Permanent: true, Reason: "its replacement would run on " + n + ", which is drained, because it tolerates " + Unschedulable.Key,
				Field: "spec.tolerations of its owner's template"}
		}
	}
	return nil
}

// returnsTo returns the drained node that the replacement of p would get, while p exists or after its deletion, or "".
func (d *Drain) returnsTo(p *model.Pod) string {
	profile, ok := d.profiles[p.Spec.SchedulerName]
	if !ok || p.Owner.UID == "" {
		return ""
	}
	q := planning.ExpectedReplacement(p, "")
	withoutPod := d.view.State.Fork()
	withoutPod.RemovePod(p.UID)
	for _, node := range []string{chooseNode(d.placers[profile.Name], q), chooseNode(profile.NewPlacer(withoutPod), q)} {
		if slices.Contains(d.nodes, node) {
			return node
		}
	}
	return ""
}

// isSettled reports whether the next pod may be evicted after x. The replacement of x must be scheduled or unschedulable,
// x deleted if its termination matters, and no pending pod may fit.
func (d *Drain) isSettled(t *step, x *Move) bool {
	switch {
	case x.Stage == Waiting: // it was refused
		return true
	case !x.Deleted() && !x.Pod.Deleting, !x.Deleted() && x.awaitTermination, x.Stage == Terminating && x.Pod.Owner.UID != "":
		return false
	}
	return d.schedulerIdle(t)
}

// roundInProgress reports whether the round waits for a move or for an additional pod.
func (d *Drain) roundInProgress() bool {
	if slices.ContainsFunc(d.moves, func(x *Move) bool { return !x.complete() }) {
		return true
	}
	for _, s := range d.surges {
		if s.awaitsReady() {
			return true
		}
	}
	return false
}

// budgetsCurrent reports whether the statuses of all relevant budgets are up to date. It ignores a budget that has been
// outdated for Timeouts.BudgetStatus.
func (d *Drain) budgetsCurrent(t *step) bool {
	current := true
	for _, b := range d.view.State.AllBudgets() {
		key := b.Namespace + "/" + b.Name
		relevant := slices.ContainsFunc(d.moves, func(x *Move) bool { return x.Stage == Waiting && budget.Ledger.Covers(b, x.Pod) })
		if !relevant || !d.isStale(t.now, b) {
			delete(d.staleSince, key)
			continue
		}
		if d.staleSince[key].IsZero() {
			d.staleSince[key] = t.now
		}
		current = t.isOver(d.staleSince[key], d.timeouts.BudgetStatus) && current
	}
	return current
}

// isStale reports whether the status of a budget differs from its pods.
func (d *Drain) isStale(now time.Time, b *model.Budget) bool {
	if b.ObservedGeneration < b.Generation {
		return true
	}
	return b.SyncError == "" && b.CurrentHealthy != budget.Recount(b, d.view.InNamespace(b.Namespace), now)
}
