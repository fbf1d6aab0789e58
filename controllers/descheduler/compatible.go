package descheduler

import (
	"context"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/budget/ledger"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/planning"
)

// evictingMover is the Mover of compatible mode: it evicts each candidate.
type evictingMover struct {
	ctx    context.Context
	report *Report
	evict  func(*evictionRequest) (ok bool, message string)
	// onLimit records a candidate skipped because of a limit.
	onLimit func(limit string, req *evictionRequest)
}

// ChoosesNodes implements descheduling.Mover.
func (e *evictingMover) ChoosesNodes() bool { return false }

// Checkpoint implements descheduling.Mover: evictions cannot be undone.
func (e *evictingMover) Checkpoint() (restore func(), ok bool) { return nil, false }

// Move implements descheduling.Mover.
func (e *evictingMover) Move(strategy, profile string, c *descheduling.Candidate) (to *descheduling.Node, ok bool) {
	if e.ctx.Err() != nil {
		return nil, false
	}
	req := &evictionRequest{pod: c.Pod.Pod, strategy: strategy, profile: profile}
	if c.Reason != nil {
		req.reason = c.Reason()
	}
	ok, message := e.evict(req)
	if ok {
		e.report.Moves = append(e.report.Moves, evictedMove(req))
	} else {
		e.report.addRefusal(req.pod, req.strategy, req.profile, notEvicted, message)
	}
	return nil, ok
}

// LimitReached implements descheduling.LimitObserver.
func (e *evictingMover) LimitReached(strategy, profile string, c *descheduling.Candidate, o descheduling.Outcome) {
	e.onLimit(o.String(), &evictionRequest{pod: c.Pod.Pod, strategy: strategy, profile: profile})
	e.report.addRefusal(c.Pod.Pod, strategy, profile, planning.LimitReached.String(), o.String())
}

// notEvicted is the refusal reason in compatible mode.
const notEvicted = "not evicted"

// dryRunEviction returns the eviction of a dry run: it checks budgets as kube-apiserver does, and debits copies.
func dryRunEviction(s *cluster.State, now time.Time) func(*evictionRequest) (ok bool, message string) {
	l := ledger.New(budget.Evictions{}, s.Budgets, nil)
	return func(req *evictionRequest) (bool, string) {
		v := l.Check(now, req.pod)
		if v.Result == budget.Granted {
			l.Debit(now, req.pod, ledger.Names(v.Debits))
		}
		return v.Result == budget.Granted, v.Reason
	}
}
