//go:build linux

package pressure

import (
	"context"
	"sync"
	"time"
)

// synchronize reads the statistics, steps the machine and executes the effects once. It returns the time until the
// next check.
func (s *Manager) synchronize(ctx context.Context, wg *sync.WaitGroup, now time.Time, trigger string) time.Duration {
	s.opts.Metrics.countSync(trigger)
	s.observe(now)
	s.opts.Metrics.observe(&s.obs)
	s.mu.Lock()
	s.obs.CheckLimits = s.limitsCheckedAt != s.measurements
	s.limitsCheckedAt = s.measurements
	if s.collected {
		s.collected = false
		effects := s.machine.Reclaimed(now, &s.obs)
		s.mu.Unlock()
		for _, e := range effects { // before Step, which must see the terminating pods
			s.execute(ctx, wg, now, e)
		}
		s.mu.Lock()
	}
	effects, wake := s.machine.Step(now, &s.obs)
	s.observed.Signals = s.obs.Signals
	outOfDisk := s.reserve.Update(now)
	s.mu.Unlock()
	for _, e := range effects {
		s.execute(ctx, wg, now, e)
	}
	if outOfDisk {
		s.reportOutOfDisk()
	}
	s.killLateProcesses(now)
	s.moveAlarm(now)
	s.startBackgroundTasks(ctx, wg, now)
	return s.nextInterval(now, wake)
}
