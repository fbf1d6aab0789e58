package descheduler

import (
	"context"
	"time"

	"github.com/berthproject/berth/engine/rebalance"
	"github.com/berthproject/berth/engine/rebalance/carry"
	"github.com/berthproject/berth/engine/rebalance/plan"
)

// round has the strategies propose once. In compatible mode, and in a dry run, that is all; in planned mode the
// machine has a plan then.
func (r *Runner) round(ctx context.Context) (*Report, error) {
	r.world.take()
	began := time.Now()
	report := &Report{Time: began.UTC().Truncate(time.Second), Mode: r.o.Mode, DryRun: r.o.DryRun, Moves: []Moved{}, Refused: []Refused{}, Counts: map[string]int{}}
	snap := r.world.snapshot(began)
	if r.o.Policy.Measures() {
		u, err := usage(ctx, r.o.Usage, r.world)
		if err != nil {
			return nil, err
		}
		snap.Usage = u
	}
	policy := r.timed()
	if r.o.Mode == Compatible {
		r.compatible(ctx, snap, policy, report)
	} else {
		r.planned(ctx, snap, policy, report)
	}
	report.Took = time.Since(began)
	r.metrics.rounded(report)
	if r.o.Planned != nil {
		r.o.Planned(report)
	}
	return report, context.Cause(ctx)
}

func (r *Runner) compatible(ctx context.Context, snap *rebalance.Snapshot, policy *rebalance.Policy, report *Report) {
	e := &evictor{ctx: ctx, report: report, evict: func(l *leave) (bool, string) {
		a := r.evict(ctx, l)
		if a.Gone {
			return false, "it is gone already"
		}
		return a.Granted, a.Words
	}, limited: r.metrics.evicted}
	if r.o.DryRun {
		e.evict, e.limited = openBooks(r.world.view.State, snap.Now).evict, func(string, *leave) {}
	}
	result := rebalance.RunPolicy(snap, policy, e)
	report.result(&result)
}

func (r *Runner) planned(ctx context.Context, snap *rebalance.Snapshot, policy *rebalance.Policy, report *Report) {
	p := places(ctx, r.o.Client, r.world, snap.Now)
	report.Places = &p
	r.machine.Serve(r.world.served.Load())
	under := r.machine.UnderWay(r.world.view)
	snap.Foresee(under)
	planner := plan.New(snap, r.world.view.State, plan.Options{Now: snap.Now, Mode: p.mode(), Others: p.others(), UnderWay: under,
		Profiles: r.o.Profiles, Seed: r.o.Seed, Memory: r.memory})
	result := rebalance.RunPolicy(snap, policy, planner)
	report.result(&result)
	made := planner.Plan()
	report.plan(made)
	if !r.o.DryRun {
		r.machine.Take(snap.Now, made)
		told := r.told
		r.told = map[*carry.Move]string{}
		for _, x := range r.machine.Moves() {
			if s, known := told[x]; known { // it is of an earlier plan
				r.told[x] = s
			}
		}
	}
}

// timed is the policy with strategies that are timed.
func (r *Runner) timed() *rebalance.Policy {
	p := r.o.Policy
	p.Profiles = make([]rebalance.Profile, len(r.o.Policy.Profiles))
	for i, profile := range r.o.Policy.Profiles {
		profile.Deschedule = r.watched(profile.Name, profile.Deschedule)
		profile.Balance = r.watched(profile.Name, profile.Balance)
		p.Profiles[i] = profile
	}
	return &p
}

func (r *Runner) watched(profile string, strategies []rebalance.Strategy) (out []rebalance.Strategy) {
	for _, s := range strategies {
		out = append(out, &stopwatch{s, profile, r.metrics})
	}
	return out
}

// stopwatch is a strategy that is timed.
type stopwatch struct {
	rebalance.Strategy
	profile string
	counts  *Counts
}

// Run is rebalance.Strategy's.
func (s *stopwatch) Run(r *rebalance.Round) {
	from := time.Now()
	s.Strategy.Run(r)
	s.counts.ran(s.Name(), s.profile, time.Since(from))
}
