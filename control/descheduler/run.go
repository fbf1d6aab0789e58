package descheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/control/twin"
	"github.com/berthproject/berth/engine/rebalance/carry"
	"github.com/berthproject/berth/engine/rebalance/plan"
)

// ErrTimeout is how a single run ends that has moves under way, or waiting, after Options.Timeout.
var ErrTimeout = errors.New("not all moves are over")

// Runner is a descheduler that runs. Make it with New.
type Runner struct {
	o       Options
	world   *world
	metrics *Counts

	memory     *plan.Memory
	machine    *carry.Machine
	told       map[*carry.Move]string // what was said of each move
	complained map[string]bool        // holds of others, by key
}

// New is a descheduler that has done nothing yet.
func New(o Options) (*Runner, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Counts == nil {
		o.Counts, _ = NewCounts(nil) // fails only where they are shown
	}
	r := &Runner{o: o, metrics: o.Counts, memory: plan.NewMemory(), told: map[*carry.Move]string{}, complained: map[string]bool{}}
	r.machine = carry.New(carry.Options{Profiles: o.Profiles, Seed: o.Seed, Memory: r.memory, Patience: o.Patience})
	r.world = newWorld(o.Client, o.Holds, slices.Collect(maps.Keys(o.Profiles)))
	return r, nil
}

// Run deschedules until the context ends, or once. It returns the report of the last round, nil if there was none.
func (r *Runner) Run(ctx context.Context) (*Report, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		r.world.feed.Run(ctx)
	}()
	defer func() { stop(); <-followed }()
	if err := r.world.read(ctx); err != nil {
		return nil, err
	}
	if r.o.Synced != nil {
		r.o.Synced()
	}
	if r.o.Interval > 0 && !r.o.DryRun {
		return r.rounds(ctx)
	}
	return r.once(ctx)
}

// once is one round, and what it planned carried out.
func (r *Runner) once(ctx context.Context) (*Report, error) {
	report, err := r.next(ctx)
	if err != nil || r.o.DryRun || r.o.Mode == Compatible {
		return report, err
	}
	if r.o.Timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, r.o.Timeout, fmt.Errorf("--timeout %v: %w", r.o.Timeout, ErrTimeout))
		defer cancel()
		ctx = limited
	}
	for {
		wake := r.work(ctx)
		report.carried(r.machine.Moves())
		if ctx.Err() != nil {
			return report, context.Cause(ctx)
		}
		if r.idle() {
			return report, nil
		}
		r.wait(ctx, wake)
	}
}

// rounds is one after another. What is under way of the last one is booked in the next.
func (r *Runner) rounds(ctx context.Context) (report *Report, err error) {
	for next := time.Now(); ctx.Err() == nil; {
		r.world.take()
		if now := time.Now(); !now.Before(next) {
			next = now.Add(r.o.Interval)
			made, err := r.next(ctx)
			var busy *twin.Busy
			switch {
			case err == nil:
				report = made
			case errors.As(err, &busy):
				return report, err
			case ctx.Err() == nil:
				r.o.Log.Error(err, "A round of descheduling failed; the next one is at "+next.UTC().Format(time.RFC3339))
			}
		}
		wake := r.work(ctx)
		if wake.IsZero() || next.Before(wake) {
			wake = next
		}
		r.wait(ctx, wake)
	}
	return report, nil
}

// next is a round, unless it must not begin.
func (r *Runner) next(ctx context.Context) (*Report, error) {
	if err := r.alone(ctx); err != nil {
		return nil, err
	}
	return r.round(ctx)
}

// alone says why a round must not begin.
func (r *Runner) alone(ctx context.Context) error {
	if r.o.Alone == nil || r.o.DryRun {
		return nil
	}
	return r.o.Alone(ctx)
}

const (
	// together is how long what happens is gathered before it is looked at.
	together = 50 * time.Millisecond
	// longest is how long nobody looks.
	longest = 10 * time.Second
)

// wait waits for news while moves are not over, or until a time.
func (r *Runner) wait(ctx context.Context, wake time.Time) {
	pause := longest
	if !wake.IsZero() {
		pause = min(max(time.Until(wake), 0), pause)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	news := r.world.feed.Ready()
	if r.idle() { // nobody waits for them; they are taken in at the next look
		news = nil
	}
	select {
	case <-news:
		select {
		case <-time.After(together):
		case <-ctx.Done():
		}
	case <-timer.C:
	case <-ctx.Done():
	}
}

// holdsTold takes in whether Holds are served.
func (w *world) holdsTold(kind string, served bool) {
	if kind == v1alpha1.Holds {
		w.served.Store(served)
	}
}
