package scheduler

import (
	"context"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/scheduling"
)

const (
	decisionsPerStep = 64               // maximum decisions per step
	heartbeat        = 10 * time.Second // maximum time between two iterations of the loop
)

// loop is the only goroutine that calls the machine.
func (s *scheduler) loop(ctx, sendCtx context.Context) error {
	if err := s.waitForSync(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	timer := s.clock.NewTimer(heartbeat)
	defer timer.Stop()
	var events []scheduling.Event
	leading, machineTime := s.leading, machineClock{clock: s.clock}
	for {
		limit := 0
		if s.leads() {
			limit = min(decisionsPerStep, s.pool.Capacity())
		}
		events = s.source.Take(events)
		now, start := machineTime.now(), s.clock.Now()
		effects, wake := s.machine.Step(now, events, limit)
		s.o.Inputs.Add(now, events, limit, effects, wake)
		s.metrics.onStep(s.machine, events, effects, s.clock.Since(start))
		s.decisions.onDecided(now, effects)
		if s.leads() {
			s.pool.Submit(sendCtx, effects)
		} else {
			s.discard(effects)
		}
		sleep := heartbeat
		if limit > 0 && !wake.IsZero() {
			sleep = min(sleep, max(0, wake.Sub(machineTime.now())))
		}
		timer.Reset(sleep)
		select {
		case <-ctx.Done():
			return nil
		case <-s.lost:
			return s.leaseLost(ctx)
		case <-leading:
			leading = nil // receive once
		case <-s.source.Ready():
		case query := <-s.queries:
			query(s.machine)
		case <-timer.C():
		}
	}
}

// discard completes the effects of an instance that does not lead with the result Unknown. The instance made no
// decisions. Its effects are only reports, which the machine repeats until they can be written, and stale nominations,
// which the leader clears.
func (s *scheduler) discard(effects []scheduling.Effect) {
	for _, e := range effects {
		o := scheduling.Outcome{ID: e.EffectID(), Result: scheduling.Unknown, Reason: "not the leader"}
		if _, ok := e.(scheduling.ClearNomination); ok {
			o.Result = scheduling.Refused
		}
		s.source.Push(o)
	}
}

// leads reports whether this instance may send requests.
func (s *scheduler) leads() bool {
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

// leaseLost returns the error for a lost lease, or nil if ctx is done.
func (s *scheduler) leaseLost(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	return ErrLeaseLost
}

// waitForSync waits for the first lists, since no decision must be made on partial data.
func (s *scheduler) waitForSync(ctx context.Context) error {
	ticker := s.clock.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.lost:
			return s.leaseLost(ctx)
		case <-ticker.C():
			s.metrics.recordHeartbeat()
			if s.o.DelayCache && !s.leads() {
				continue
			}
			s.log.Warn("Waiting for caches to sync", "kinds", strings.Join(s.source.Unsynced(), ","))
		case <-s.source.Synced():
			s.metrics.setSynced()
			s.log.Info("Caches are synced")
			if s.o.OnSynced != nil {
				s.o.OnSynced()
			}
			return nil
		}
	}
}
