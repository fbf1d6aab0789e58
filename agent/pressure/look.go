package pressure

import (
	"context"
	"sync"
	"time"

	"github.com/berthproject/berth/engine/pressure"
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
	var effects []pressure.Effect
	if s.collected {
		s.collected = false
		effects = s.machine.Collected(now, &s.obs)
	}
	more, wake := s.machine.Step(now, &s.obs)
	outOfDisk := s.reserve.Update(now)
	s.mu.Unlock()
	for _, e := range effects {
		s.carryOut(ctx, wg, now, e)
	}
	for _, e := range more {
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
