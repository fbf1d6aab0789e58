package descheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/evacuation"
)

// execute runs the actions of the machine until none remain. It returns the time at which it must be
// called again; the zero time means only after a change.
func (r *Runner) execute(ctx context.Context) (wake time.Time) {
	for ctx.Err() == nil {
		r.applyEvents()
		actions, wake := r.machine.Step(r.env.Now())
		r.reportProgress()
		if len(actions) == 0 {
			return wake
		}
		for i := range actions {
			result := r.runAction(ctx, &actions[i])
			if ctx.Err() != nil && !result.Done {
				return time.Time{} // the result is unknown; the next run checks it
			}
			r.machine.HandleResult(r.env.Now(), actions[i].ID, result)
		}
	}
	return time.Time{}
}

// runAction executes an action with the API server.
func (r *Runner) runAction(ctx context.Context, a *evacuation.Action) evacuation.Result {
	switch a.Kind {
	case evacuation.Reserve:
		return newResult(r.createHold(ctx, a.Hold))
	case evacuation.Avoid:
		r.printProgress(fmt.Sprintf("pods of %s %s/%s avoid %s until %s: %s", a.Hold.Owner.Kind, a.Hold.Namespace, a.Hold.Owner.Name, a.Hold.Node, a.Hold.Until.UTC().Format(time.RFC3339), a.Move.Reason))
		return newResult(r.createHold(ctx, a.Hold))
	case evacuation.Release:
		final, err := r.deleteHold(ctx, a.Hold)
		if err != nil && ctx.Err() == nil && !r.loggedHolds[a.Hold.Key()] {
			r.loggedHolds[a.Hold.Key()] = true
			r.o.Log.Info("Failed to delete a Hold", "hold", a.Hold.Key(), "err", err.Error(), "until", a.Hold.Until)
		}
		return newResult(final, err)
	case evacuation.Evict:
		m := a.Move.Planned
		out := r.evict(ctx, &evictionRequest{pod: m.Pod, strategy: m.Strategy, profile: m.Profile, reason: m.Reason})
		return evacuation.Result{Done: out.Granted, Message: out.Message, Permanent: out.Permanent}
	}
	return evacuation.Result{Message: fmt.Sprintf("unsupported action kind %d", a.Kind), Permanent: true}
}

// newResult returns the result of a write. final reports whether a retry of a failed write is useless.
func newResult(final bool, err error) evacuation.Result {
	if err != nil {
		return evacuation.Result{Message: err.Error(), Permanent: final}
	}
	return evacuation.Result{Done: true}
}

// reportProgress reports the moves whose progress changed.
func (r *Runner) reportProgress() {
	inProgress := r.machine.HasInProgress()
	for _, x := range r.machine.Moves() {
		s := describeProgress(x)
		if s == "" || r.lastMessage[x] == s || x.Stage == evacuation.Waiting && inProgress { // most moves wait for a move in progress
			continue
		}
		r.lastMessage[x] = s
		r.printProgress(s)
		if x.Stage == evacuation.Finished {
			r.metrics.moves.WithLabelValues(x.Outcome.String()).Inc()
		}
	}
}

func (r *Runner) printProgress(line string) {
	if r.o.OnProgress != nil {
		r.o.OnProgress(line)
	}
}

// describeProgress describes the progress of a move in a line. It returns "" before the first check.
func describeProgress(x *evacuation.Move) string {
	pod := x.Pod.Key()
	switch x.Stage {
	case evacuation.Waiting:
		if x.Reason == "" {
			return ""
		}
		return pod + " is waiting: " + x.Reason
	case evacuation.Evicting:
		if x.Reason != "" {
			return pod + " is not evicted yet: " + x.Reason
		}
	case evacuation.Terminating:
		return fmt.Sprintf("%s is evicted from %s (%s)", pod, x.From, x.Planned.Strategy)
	case evacuation.Placed:
		return fmt.Sprintf("%s is replaced by %s, starting on %s", pod, x.Replacement.Key(), x.Replacement.NodeName)
	case evacuation.Finished:
		s := pod + " " + x.Outcome.String()
		if x.Outcome == evacuation.Moved {
			s = fmt.Sprintf("%s moved to %s", pod, x.Replacement.NodeName)
		}
		if x.Reason != "" {
			s += ": " + x.Reason
		}
		return s
	}
	return ""
}

// allFinished reports whether no move is in progress or waiting.
func (r *Runner) allFinished() bool {
	return !slices.ContainsFunc(r.machine.Moves(), func(x *evacuation.Move) bool { return x.Stage != evacuation.Finished })
}
