//go:build linux

package pressure

import (
	"context"
	"sync"
	"time"
)

// synchronize reads the statistics, steps the machine and executes the effects once. It returns the time until the
// next check.
func (m *Manager) synchronize(ctx context.Context, wg *sync.WaitGroup, now time.Time, trigger string) time.Duration {
	m.opts.Metrics.countSync(trigger)
	m.observe(now)
	m.opts.Metrics.observe(&m.obs)
	m.mu.Lock()
	m.obs.CheckLimits = m.limitsCheckedAt != m.measurements
	m.limitsCheckedAt = m.measurements
	if m.collected {
		m.collected = false
		effects := m.machine.Reclaimed(now, &m.obs)
		m.mu.Unlock()
		for _, e := range effects { // before Step, which must see the terminating pods
			m.execute(ctx, wg, now, e)
		}
		m.mu.Lock()
	}
	effects, wake := m.machine.Step(now, &m.obs)
	m.observed.Signals = m.obs.Signals
	outOfDisk := m.reserve.Update(now)
	m.mu.Unlock()
	for _, e := range effects {
		m.execute(ctx, wg, now, e)
	}
	if outOfDisk {
		m.reportOutOfDisk()
	}
	m.killLateProcesses(now)
	m.moveAlarm(now)
	m.startBackgroundTasks(ctx, wg, now)
	return m.nextInterval(now, wake)
}
