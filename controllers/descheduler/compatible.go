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

// dryRunLedger holds the budgets of a dry run; evictions debit copies.
type dryRunLedger struct {
	now     time.Time
	budgets map[string][]*model.Budget // by namespace
}

func newDryRunLedger(s *cluster.State, now time.Time) *dryRunLedger {
	l := &dryRunLedger{now: now, budgets: map[string][]*model.Budget{}}
	for _, b := range s.AllBudgets() {
		l.budgets[b.Namespace] = append(l.budgets[b.Namespace], b)
	}
	return l
}

// evict checks the budgets as kube-apiserver does, and debits them.
func (l *dryRunLedger) evict(req *evictionRequest) (ok bool, message string) {
	v := budget.Evictions{}.Check(req.pod, l.budgets[req.pod.Namespace], nil, l.now)
	if v.Result != budget.Granted {
		return false, v.Reason
	}
	for _, debited := range v.Debits {
		reduced := *debited
		reduced.DisruptionsAllowed--
		l.budgets[req.pod.Namespace][slices.Index(l.budgets[req.pod.Namespace], debited)] = &reduced
	}
	return true, ""
}
