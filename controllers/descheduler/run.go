package descheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/upstreamguard"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/order"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/informers"
)

// ErrTimeout is returned by a single run whose moves are not finished after Options.Timeout.
var ErrTimeout = errors.New("not all moves have finished")

// Runner runs the descheduler. Create it with New. It is synchronous code: Options.Events and Options.Env determine how it
// waits.
type Runner struct {
	o       Options
	env     runner.Environment
	state   *clusterState
	events  []scheduling.Event // buffer of applyEvents
	metrics *Metrics

	backoff     *planning.MoveBackoff
	machine     *evacuation.Planned
	lastMessage map[*evacuation.Move]string // last progress message by move
	loggedHolds map[string]bool             // Holds of other creators that were logged, by key
}

// New returns a Runner.
func New(o Options) (*Runner, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Events == nil {
		source := informers.New(o.Client)
		if o.Holds != nil {
			source.WatchHolds(o.Holds)
		}
		source.ObserveDetails()
		if o.OnSyncing != nil {
			o.OnSyncing(source.Unsynced)
		}
		o.Events = source
	}
	return newRunner(o), nil
}

// newRunner returns a Runner with an empty state.
func newRunner(o Options) *Runner {
	if o.Metrics == nil {
		o.Metrics, _ = NewMetrics(nil) // cannot fail without registration
	}
	if o.Env.WithTicker == nil {
		o.Env = runner.Production()
	}
	r := &Runner{o: o, env: o.Env, metrics: o.Metrics, backoff: planning.NewMoveBackoff(), lastMessage: map[*evacuation.Move]string{}, loggedHolds: map[string]bool{}}
	r.state = newClusterState(slices.Collect(maps.Keys(o.Profiles)))
	r.machine = evacuation.NewPlanned(r.state.view, evacuation.PlanOptions{Profiles: o.Profiles, Seed: o.Seed, Backoff: r.backoff, Timeouts: o.Timeouts})
	return r
}

// Run starts a run per interval until ctx is done, or a single run if Options.Interval is 0 or Options.DryRun
// is set. It returns the report of the last successful run, or nil.
func (r *Runner) Run(ctx context.Context) (*Report, error) {
	stop, err := r.o.Events.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	if r.o.Interval > 0 && !r.o.DryRun {
		return r.runLoop(ctx)
	}
	return r.runOnce(ctx)
}

func (r *Runner) applyEvents() {
	r.events = r.o.Events.Take(r.events)
	r.state.apply(r.events)
}

// runOnce runs the strategies and executes the plan.
func (r *Runner) runOnce(ctx context.Context) (*Report, error) {
	report, err := r.runStrategiesIfExclusive(ctx)
	if err != nil || r.o.DryRun || r.o.Mode == Compatible {
		return report, err
	}
	limited := ctx
	if r.o.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = r.env.WithTimeout(ctx, r.o.Timeout)
		defer cancel()
	}
	for {
		wake := r.execute(limited)
		report.setMoves(r.machine.Moves())
		switch {
		case ctx.Err() != nil:
			return report, context.Cause(ctx)
		case limited.Err() != nil:
			return report, fmt.Errorf("--timeout %v: %w", r.o.Timeout, ErrTimeout)
		case r.allFinished():
			return report, nil
		}
		r.wait(limited, wake)
	}
}

// runLoop runs the strategies periodically. Moves in progress are an input of the next run.
func (r *Runner) runLoop(ctx context.Context) (report *Report, err error) {
	for next := r.env.Now(); ctx.Err() == nil; {
		r.applyEvents()
		if now := r.env.Now(); !now.Before(next) {
			next = now.Add(r.o.Interval)
			latest, err := r.runStrategiesIfExclusive(ctx)
			var running *upstreamguard.AlreadyRunningError
			switch {
			case err == nil:
				report = latest
			case errors.As(err, &running):
				return report, err
			case ctx.Err() == nil:
				r.o.Log.Error(err, "Descheduler run failed", "nextRun", next.UTC().Format(time.RFC3339))
			}
		}
		r.wait(ctx, order.Earliest(r.execute(ctx), next))
	}
	return report, nil
}

// runStrategiesIfExclusive runs the strategies unless checkExclusive returns an error.
func (r *Runner) runStrategiesIfExclusive(ctx context.Context) (*Report, error) {
	if err := r.checkExclusive(ctx); err != nil {
		return nil, err
	}
	return r.runStrategies(ctx)
}

// checkExclusive calls Options.CheckExclusive, except for dry runs. An error means that a run must not start.
func (r *Runner) checkExclusive(ctx context.Context) error {
	if r.o.CheckExclusive == nil || r.o.DryRun {
		return nil
	}
	return r.o.CheckExclusive(ctx)
}

// maxWait is the longest time between two steps.
const maxWait = 10 * time.Second

// wait waits until wake, at most maxWait. While moves are unfinished, it also returns after a change.
func (r *Runner) wait(ctx context.Context, wake time.Time) {
	d := maxWait
	if !wake.IsZero() {
		d = min(max(wake.Sub(r.env.Now()), 0), d)
	}
	if r.allFinished() { // changes are processed by the next run
		r.env.Pause(ctx, d)
	} else {
		r.o.Events.Wait(ctx, d)
	}
}
