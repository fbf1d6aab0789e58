package descheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/berthproject/berth/controllers/upstreamguard"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/evacuation"
)

// ErrTimeout is returned by a single run whose moves are not finished after Options.Timeout.
var ErrTimeout = errors.New("not all moves have finished")

// Runner runs the descheduler. Create it with New.
type Runner struct {
	clock   clock.WithTicker
	o       Options
	state   *clusterState
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
	r := newRunner(o)
	r.state.watch(r.o.Client, r.o.Holds)
	return r, nil
}

// newRunner returns a Runner with an empty state.
func newRunner(o Options) *Runner {
	if o.Metrics == nil {
		o.Metrics, _ = NewMetrics(nil) // cannot fail without registration
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	r := &Runner{clock: o.Clock, o: o, metrics: o.Metrics, backoff: planning.NewMoveBackoff(), lastMessage: map[*evacuation.Move]string{}, loggedHolds: map[string]bool{}}
	r.state = newClusterState(slices.Collect(maps.Keys(o.Profiles)), o.Clock)
	r.machine = evacuation.NewPlanned(r.state.view, evacuation.PlanOptions{Profiles: o.Profiles, Seed: o.Seed, Backoff: r.backoff, Timeouts: o.Timeouts})
	return r
}

// Run starts a run per interval until ctx is done, or a single run if Options.Interval is 0 or Options.DryRun
// is set. It returns the report of the last successful run, or nil.
func (r *Runner) Run(ctx context.Context) (*Report, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	informersDone := make(chan struct{})
	go func() {
		defer close(informersDone)
		r.state.source.Run(ctx)
	}()
	defer func() { stop(); <-informersDone }()
	if err := r.state.waitForSync(ctx); err != nil {
		return nil, err
	}
	if r.o.OnSynced != nil {
		r.o.OnSynced()
	}
	if r.o.Interval > 0 && !r.o.DryRun {
		return r.runLoop(ctx)
	}
	return r.runOnce(ctx)
}

// runOnce runs the strategies and executes the plan.
func (r *Runner) runOnce(ctx context.Context) (*Report, error) {
	report, err := r.runStrategiesIfExclusive(ctx)
	if err != nil || r.o.DryRun || r.o.Mode == Compatible {
		return report, err
	}
	if r.o.Timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, r.o.Timeout, fmt.Errorf("--timeout %v: %w", r.o.Timeout, ErrTimeout))
		defer cancel()
		ctx = limited
	}
	for {
		wake := r.execute(ctx)
		report.setMoves(r.machine.Moves())
		if ctx.Err() != nil {
			return report, context.Cause(ctx)
		}
		if r.allFinished() {
			return report, nil
		}
		r.wait(ctx, wake)
	}
}

// runLoop runs the strategies periodically. Moves in progress are an input of the next run.
func (r *Runner) runLoop(ctx context.Context) (report *Report, err error) {
	for next := r.clock.Now(); ctx.Err() == nil; {
		r.state.applyEvents()
		if now := r.clock.Now(); !now.Before(next) {
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
		wake := r.execute(ctx)
		if wake.IsZero() || next.Before(wake) {
			wake = next
		}
		r.wait(ctx, wake)
	}
	return report, nil
}

// runStrategiesIfExclusive runs the strategies unless a run must not start.
func (r *Runner) runStrategiesIfExclusive(ctx context.Context) (*Report, error) {
	if err := r.checkExclusive(ctx); err != nil {
		return nil, err
	}
	return r.runStrategies(ctx)
}

// checkExclusive returns an error if a run must not start. It does not check dry runs.
func (r *Runner) checkExclusive(ctx context.Context) error {
	if r.o.CheckExclusive == nil || r.o.DryRun {
		return nil
	}
	return r.o.CheckExclusive(ctx)
}

const (
	// batchWindow is how long changes are collected before they are processed.
	batchWindow = 50 * time.Millisecond
	// maxWait is the longest time between two steps.
	maxWait = 10 * time.Second
)

// wait waits until wake or, while moves are unfinished, for changes.
func (r *Runner) wait(ctx context.Context, wake time.Time) {
	delay := maxWait
	if !wake.IsZero() {
		delay = min(max(wake.Sub(r.clock.Now()), 0), delay)
	}
	timer := r.clock.NewTimer(delay)
	defer timer.Stop()
	changes := r.state.source.Ready()
	if r.allFinished() { // changes are processed by the next run
		changes = nil
	}
	select {
	case <-changes:
		select {
		case <-r.clock.After(batchWindow):
		case <-ctx.Done():
		}
	case <-timer.C():
	case <-ctx.Done():
	}
}
