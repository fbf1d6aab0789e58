package descheduler

import (
	"context"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/rebalance"
	"github.com/berthproject/berth/engine/rebalance/plan"
)

// evictor is the Mover of compatible mode: what is proposed is evicted, one after the other.
type evictor struct {
	ctx    context.Context
	report *Report
	evict  func(*leave) (ok bool, words string)
	// limited counts one that stays as a limit is reached, by that.
	limited func(limit string, l *leave)
}

// Places is rebalance.Mover's: nobody asks where to.
func (e *evictor) Places() bool { return false }

// Save is rebalance.Mover's: evictions are not undone.
func (e *evictor) Save() (restore func(), ok bool) { return nil, false }

// Move is rebalance.Mover's.
func (e *evictor) Move(strategy, profile string, c *rebalance.Candidate) (to *rebalance.Node, ok bool) {
	if e.ctx.Err() != nil {
		return nil, false
	}
	l := &leave{pod: c.Pod.Pod, strategy: strategy, profile: profile}
	if c.Reason != nil {
		l.reason = c.Reason()
	}
	ok, words := e.evict(l)
	if ok {
		e.report.Moves = append(e.report.Moves, evicted(l))
	} else {
		e.report.refused(l.pod, l.strategy, l.profile, notEvicted, words)
	}
	return nil, ok
}

// Limited is rebalance.Limiter's.
func (e *evictor) Limited(strategy, profile string, c *rebalance.Candidate, o rebalance.Outcome) {
	e.limited(o.String(), &leave{pod: c.Pod.Pod, strategy: strategy, profile: profile})
	e.report.refused(c.Pod.Pod, strategy, profile, plan.Limited.String(), o.String())
}

// notEvicted is why a candidate of compatible mode stays.
const notEvicted = "not evicted"

// books are budgets as a dry run sees them: what it would take is taken from a copy.
type books struct {
	now time.Time
	all map[string][]*model.Budget // by namespace
}

func openBooks(s *cluster.State, now time.Time) *books {
	b := &books{now: now, all: map[string][]*model.Budget{}}
	for _, x := range s.AllBudgets() {
		b.all[x.Namespace] = append(b.all[x.Namespace], x)
	}
	return b
}

// evict answers as kube-apiserver would.
func (b *books) evict(l *leave) (ok bool, words string) {
	v := budget.Evictions{}.Judge(l.pod, b.all[l.pod.Namespace], nil, b.now)
	if v.Result != budget.Granted {
		return false, v.Why
	}
	for _, paid := range v.Pay {
		less := *paid
		less.DisruptionsAllowed--
		b.all[l.pod.Namespace][slices.Index(b.all[l.pod.Namespace], paid)] = &less
	}
	return true, ""
}
