package descheduler

import (
	"context"
	"time"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/evacuation"
)

// runStrategies runs the strategies once. In planned mode, unless it is a dry run, it passes the
// plan to the machine that executes it.
func (r *Runner) runStrategies(ctx context.Context) (*Report, error) {
	r.applyEvents()
	start := r.env.Now()
	report := r.newReport(start)
	snap := r.state.snapshot(start)
	if r.o.Policy.UsesMetrics() {
		u, err := r.readUsage(ctx)
		if err != nil {
			return nil, err
		}
		snap.Usage = u
	}
	policy := r.timedPolicy()
	if r.o.Mode == Compatible {
		r.runCompatible(ctx, snap, policy, report)
	} else {
		r.runPlanned(snap, policy, report, r.detectHoldSupport(ctx, snap.Now))
	}
	report.Duration = r.env.Since(start)
	r.metrics.observeRun(report)
	if r.o.OnReport != nil {
		r.o.OnReport(report)
	}
	return report, context.Cause(ctx)
}

// newReport returns an empty report of a run.
func (r *Runner) newReport(start time.Time) *Report {
	return &Report{Time: start.UTC().Truncate(time.Second), Mode: r.o.Mode, DryRun: r.o.DryRun, Moves: []MoveReport{}, Refusals: []Refusal{}, RefusalCounts: map[string]int{}}
}

func (r *Runner) runCompatible(ctx context.Context, snap *descheduling.Snapshot, policy *descheduling.Policy, report *Report) {
	e := &evictingMover{ctx: ctx, report: report, evict: func(req *evictionRequest) (bool, string) {
		a := r.evict(ctx, req)
		if a.AlreadyDeleted {
			return false, "the pod is already deleted"
		}
		return a.Granted, a.Message
	}, onLimit: r.metrics.observeEviction}
	if r.o.DryRun {
		e.evict, e.onLimit = dryRunEviction(r.state.view.State, snap.Now), func(string, *evictionRequest) {}
	}
	result := descheduling.RunPolicy(snap, policy, e)
	report.addResult(&result)
}

func (r *Runner) runPlanned(snap *descheduling.Snapshot, policy *descheduling.Policy, report *Report, support HoldSupport) {
	report.HoldSupport = &support
	r.machine.SetHoldsServed(r.state.holdsServed)
	inProgress := r.machine.InProgress()
	snap.ApplyInProgress(inProgress)
	planner := planning.New(snap, r.state.view.State, planning.Options{Now: snap.Now, Mode: support.mode(), SchedulersWithoutHolds: support.unsupportedSet(), InProgress: inProgress,
		Profiles: r.o.Profiles, Seed: r.o.Seed, Backoff: r.backoff})
	result := descheduling.RunPolicy(snap, policy, planner)
	report.addResult(&result)
	plan := planner.Plan()
	report.addPlan(plan)
	if !r.o.DryRun {
		r.machine.SetPlan(snap.Now, plan)
		lastMessage := r.lastMessage
		r.lastMessage = map[*evacuation.Move]string{}
		for _, x := range r.machine.Moves() {
			if s, ok := lastMessage[x]; ok { // from an earlier plan
				r.lastMessage[x] = s
			}
		}
	}
}

// timedPolicy returns the policy with timed strategies.
func (r *Runner) timedPolicy() *descheduling.Policy {
	p := r.o.Policy
	p.Profiles = make([]descheduling.Profile, len(r.o.Policy.Profiles))
	for i, profile := range r.o.Policy.Profiles {
		profile.Deschedule = r.timedStrategies(profile.Name, profile.Deschedule)
		profile.Balance = r.timedStrategies(profile.Name, profile.Balance)
		p.Profiles[i] = profile
	}
	return &p
}

func (r *Runner) timedStrategies(profile string, strategies []descheduling.Strategy) (out []descheduling.Strategy) {
	for _, s := range strategies {
		out = append(out, &timedStrategy{s, profile, r.metrics, r.env})
	}
	return out
}

// timedStrategy observes the duration of a strategy.
type timedStrategy struct {
	descheduling.Strategy
	profile string
	metrics *Metrics
	env     runner.Environment
}

// Run implements descheduling.Strategy.
func (s *timedStrategy) Run(r *descheduling.Round) {
	start := s.env.Now()
	s.Strategy.Run(r)
	s.metrics.observeStrategy(s.Name(), s.profile, s.env.Since(start))
}
