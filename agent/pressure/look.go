package pressure

import (
	"context"
	"sync"
	"time"
)

// look reads, decides and acts once, and says when to look again.
func (s *Shell) look(ctx context.Context, wg *sync.WaitGroup, now time.Time, by string) time.Duration {
	s.opts.Metrics.count(by)
	s.lastLook = now
	s.observe(now)
	s.opts.Metrics.show(&s.obs)
	s.mu.Lock()
	s.obs.CheckLimits = s.checked != s.measured
	s.checked = s.measured
	if s.collected {
		s.collected = false
		effects := s.machine.Collected(now, &s.obs)
		s.mu.Unlock()
		for _, e := range effects { // before Step, which is to see who dies
			s.carryOut(ctx, wg, now, e)
		}
		s.mu.Lock()
	}
	effects, wake := s.machine.Step(now, &s.obs)
	outOfDisk := s.reserve.Update(now)
	s.mu.Unlock()
	for _, e := range effects {
		s.carryOut(ctx, wg, now, e)
	}
	if outOfDisk {
		s.agent.Report(s.opts.Node)
	}
	s.killAgain(now)
	s.moveAlarm(now)
	s.tend(ctx, wg, now)
	return s.pace(now, wake)
}
