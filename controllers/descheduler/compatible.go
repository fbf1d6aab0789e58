package descheduler

import (
	"context"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

// evictingMover is the Mover of compatible mode: what is proposed is evicted, one after the other.
type evictingMover struct {
	ctx    context.Context
	report *Report
	evict  func(*evictionRequest) (ok bool, words string)
	// onLimit counts one that stays as a limit is reached, by that.
	onLimit func(limit string, l *evictionRequest)
}

// ChoosesNodes is rebalance.Mover's: nobody asks where to.
func (e *evictingMover) ChoosesNodes() bool { return false }

// Checkpoint is rebalance.Mover's: evictions are not undone.
func (e *evictingMover) Checkpoint() (restore func(), ok bool) { return nil, false }

// Move is rebalance.Mover's.
func (e *evictingMover) Move(strategy, profile string, c *descheduling.Candidate) (to *descheduling.Node, ok bool) {
	if e.ctx.Err() != nil {
		return nil, false
	}
	l := &evictionRequest{pod: c.Pod.Pod, strategy: strategy, profile: profile}
	if c.Reason != nil {
		l.reason = c.Reason()
	}
	ok, words := e.evict(l)
	if ok {
		e.report.Moves = append(e.report.Moves, evictedMove(l))
	} else {
		e.report.addRefusal(l.pod, l.strategy, l.profile, notEvicted, words)
	}
	return nil, ok
}

// LimitReached is rebalance.Limiter's.
func (e *evictingMover) LimitReached(strategy, profile string, c *descheduling.Candidate, o descheduling.Outcome) {
	e.onLimit(o.String(), &evictionRequest{pod: c.Pod.Pod, strategy: strategy, profile: profile})
	e.report.addRefusal(c.Pod.Pod, strategy, profile, planning.LimitReached.String(), o.String())
}

// notEvicted is why a candidate of compatible mode stays.
const notEvicted = "not evicted"

// dryRunLedger are budgets as a dry run sees them: what it would take is taken from a copy.
type dryRunLedger struct {
	now     time.Time
	budgets map[string][]*model.Budget // by namespace
}

func newDryRunLedger(s *cluster.State, now time.Time) *dryRunLedger {
	b := &dryRunLedger{now: now, budgets: map[string][]*model.Budget{}}
	for _, x := range s.AllBudgets() {
		b.budgets[x.Namespace] = append(b.budgets[x.Namespace], x)
	}
	return b
}

// evict answers as kube-apiserver would.
func (b *dryRunLedger) evict(l *evictionRequest) (ok bool, words string) {
	v := budget.Evictions{}.Check(l.pod, b.budgets[l.pod.Namespace], nil, b.now)
	if v.Result != budget.Granted {
		return false, v.Reason
	}
	for _, paid := range v.Debits {
		less := *paid
		less.DisruptionsAllowed--
		b.budgets[l.pod.Namespace][slices.Index(b.budgets[l.pod.Namespace], paid)] = &less
	}
	return true, ""
}
