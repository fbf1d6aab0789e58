package scheduler

import (
	"context"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/scheduling"
)

const (
	batch     = 64               // decisions a step
	heartbeat = 10 * time.Second // the loop comes round at least this often
)

// loop is the one goroutine that calls the machine.
func (s *shell) loop(ctx, sendCtx context.Context) error {
	if err := s.await(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	timer := time.NewTimer(heartbeat)
	defer timer.Stop()
	var events []scheduling.Event
	leading := s.leading
	for {
		limit := 0
		if s.leads() {
			limit = min(batch, s.act.Room())
		}
		events = s.feed.Take(events)
		now := time.Now()
		effects, wake := s.machine.Step(now, events, limit)
		s.metrics.stepped(s.machine, events, effects, time.Since(now))
		s.trail.decided(now, effects)
		if s.leads() {
			s.act.Do(sendCtx, effects)
		} else {
			s.keep(effects)
		}
		sleep := heartbeat
		if limit > 0 && !wake.IsZero() {
			sleep = min(sleep, max(0, time.Until(wake)))
		}
		timer.Reset(sleep)
		select {
		case <-ctx.Done():
			return nil
		case <-s.lost:
			return s.stopped(ctx)
		case <-leading:
			leading = nil // once is enough
		case <-s.feed.Ready():
		case question := <-s.questions:
			question(s.machine)
		case <-timer.C:
		}
	}
}

// keep does nothing about effects, as this copy does not lead. It made no
// decision; there are only reports, which are said again until they can be written, and
// nominations that are void, which the leader takes back.
func (s *shell) keep(effects []scheduling.Effect) {
	for _, e := range effects {
		o := scheduling.Outcome{ID: e.EffectID(), Result: scheduling.Unknown, Why: "not the leader"}
		if _, ok := e.(scheduling.Unnominate); ok {
			o.Result = scheduling.Refused
		}
		s.feed.Push(o)
	}
}

// leads says whether this copy may send.
func (s *shell) leads() bool {
	select {
	case <-s.lost:
		return false
	default:
	}
	select {
	case <-s.leading:
		return true
	default:
		return false
	}
}

// stopped words the end of an election that the context did not end.
func (s *shell) stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	return ErrLeaseLost
}

// await waits until the cluster is known: nothing is decided on half of it.
func (s *shell) await(ctx context.Context) error {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.lost:
			return s.stopped(ctx)
		case <-ticker.C:
			s.metrics.beat()
			if s.o.DelayCache && !s.leads() {
				continue
			}
			s.log.Warn("waiting for the first list of some kinds", "kinds", strings.Join(s.feed.Waiting(), ","))
		case <-s.feed.Synced():
			s.metrics.synced()
			s.log.Info("the cluster is known")
			if s.o.Synced != nil {
				s.o.Synced()
			}
			return nil
		}
	}
}
