package descheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/rebalance/carry"
)

// work does what the machine says until it has nothing to do at once, and returns when to ask again at the latest;
// zero: only news bring something to do.
func (r *Runner) work(ctx context.Context) (wake time.Time) {
	for ctx.Err() == nil {
		r.world.take()
		actions, wake := r.machine.Step(time.Now(), r.world.view)
		r.tell()
		if len(actions) == 0 {
			return wake
		}
		for _, a := range actions {
			answer := r.act(ctx, a)
			if ctx.Err() != nil && !answer.Done {
				return time.Time{} // whether it happened is not known; the next run looks
			}
			r.machine.Answer(time.Now(), a.Is(), answer)
		}
	}
	return time.Time{}
}

// act carries out an action.
func (r *Runner) act(ctx context.Context, a carry.Action) carry.Answer {
	switch a := a.(type) {
	case carry.Reserve:
		return answer(r.hold(ctx, a.Hold))
	case carry.Avoid:
		r.say(fmt.Sprintf("pods of %s %s/%s stay off %s until %s: %s", a.Hold.Owner.Kind, a.Hold.Namespace, a.Hold.Owner.Name, a.Hold.Node, a.Hold.Until.UTC().Format(time.RFC3339), a.Move.Why))
		return answer(r.hold(ctx, a.Hold))
	case carry.Release:
		err, final := r.release(ctx, a.Hold)
		if err != nil && ctx.Err() == nil && !r.complained[a.Hold.Key()] {
			r.complained[a.Hold.Key()] = true
			r.o.Log.Info("A hold is not deleted", "hold", a.Hold.Key(), "why", err.Error(), "until", a.Hold.Until)
		}
		return answer(err, final)
	case carry.Evict:
		m := a.Move.Move
		out := r.evict(ctx, &leave{pod: m.Pod, strategy: m.Strategy, profile: m.Profile, reason: m.Reason})
		return carry.Answer{Done: out.Granted, Words: out.Words, Final: out.Final}
	}
	return carry.Answer{Words: fmt.Sprintf("nobody knows what a %T is", a), Final: true}
}

func answer(err error, final bool) carry.Answer {
	if err != nil {
		return carry.Answer{Words: err.Error(), Final: final}
	}
	return carry.Answer{Done: true}
}

// tell says what is new of the moves.
func (r *Runner) tell() {
	busy := r.machine.Busy()
	for _, x := range r.machine.Moves() {
		s := news(x)
		if s == "" || r.told[x] == s || x.Stage == carry.Waiting && busy { // mostly for one of those under way
			continue
		}
		r.told[x] = s
		r.say(s)
		if x.Stage == carry.Over {
			r.metrics.moves.WithLabelValues(x.Outcome.String()).Inc()
		}
	}
}

func (r *Runner) say(line string) {
	if r.o.Say != nil {
		r.o.Say(line)
	}
}

// news is how far a move is, in a line; empty while its turn has not come.
func news(x *carry.Move) string {
	pod := x.Pod.Key()
	switch x.Stage {
	case carry.Waiting:
		if x.Why == "" {
			return ""
		}
		return pod + " waits: " + x.Why
	case carry.Evicting:
		if x.Why != "" {
			return pod + " is not evicted yet: " + x.Why
		}
	case carry.Leaving:
		return fmt.Sprintf("%s is evicted from %s (%s)", pod, x.From, x.Strategy)
	case carry.Placed:
		return fmt.Sprintf("%s is replaced by %s, starting on %s", pod, x.Replacement.Key(), x.Replacement.NodeName)
	case carry.Over:
		s := pod + " " + x.Outcome.String()
		if x.Outcome == carry.Moved {
			s = fmt.Sprintf("%s moved to %s", pod, x.Replacement.NodeName)
		}
		if x.Why != "" {
			s += ": " + x.Why
		}
		return s
	}
	return ""
}

// idle says that there is nothing under way, and nothing waits.
func (r *Runner) idle() bool {
	return !slices.ContainsFunc(r.machine.Moves(), func(x *carry.Move) bool { return x.Stage != carry.Over })
}
