//go:build linux

package pressure

import (
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
)

// Worst-case growth rates: several programs together touch memory at a few GiB/s, and two CPUs
// fork several thousand times per second.
const (
	maxBytesPerSecond = 8 << 30
	maxForksPerSecond = 20_000
)

// thresholds are the node's thresholds by resource. Hard thresholds for memory and processes determine the polling
// interval; all others are checked every MaxInterval.
type thresholds struct {
	memory, processes []nodepressure.Value // of hard thresholds
	allocatable       bool                 // a threshold for allocatable memory is set
	disk              []nodepressure.Threshold
}

func (ts *thresholds) add(list []nodepressure.Threshold) {
	for _, t := range list {
		switch t.Signal {
		case nodepressure.MemoryAvailable:
			if t.Hard() {
				ts.memory = append(ts.memory, t.Value)
			}
		case nodepressure.AllocatableMemoryAvailable:
			ts.allocatable = true
		case nodepressure.PIDAvailable:
			if t.Hard() {
				ts.processes = append(ts.processes, t.Value)
			}
		default:
			ts.disk = append(ts.disk, t)
		}
	}
}

// maxRequired returns the largest of the values for a capacity, in the unit of the capacity.
func maxRequired(values []nodepressure.Value, capacity int64) (need int64) {
	for i := range values {
		need = max(need, values[i].Of(capacity).Amount)
	}
	return need
}

// lowDisk reports whether a disk signal is below one of its thresholds plus the minimum reclaim.
func (ts *thresholds) lowDisk(o *nodepressure.Observation) bool {
	for i := range ts.disk {
		t := &ts.disk[i]
		stat := &o.Signals[t.Signal]
		need := t.Value.Of(stat.Capacity).Amount
		if t.MinReclaim != nil {
			need += t.MinReclaim.Of(stat.Capacity).Amount
		}
		if stat.Known && stat.Available < need {
			return true
		}
	}
	return false
}

// nextInterval returns how long to wait for the next check unless the alarm fires earlier. wake is when nodepressure
// requests the next check; zero if it does not.
func (m *Manager) nextInterval(now, wake time.Time) time.Duration {
	next := m.opts.MaxInterval
	if len(m.thresholds.memory) > 0 {
		next = min(next, m.memoryInterval(&m.obs.Signals[nodepressure.MemoryAvailable]))
	}
	if stat := &m.obs.Signals[nodepressure.PIDAvailable]; len(m.thresholds.processes) > 0 && stat.Known {
		next = min(next, timeToConsume(stat.Available-maxRequired(m.thresholds.processes, stat.Capacity), maxForksPerSecond))
	}
	next = max(next, m.opts.MinInterval)
	if now.Before(m.reclaimFailedUntil[model.MemoryPressure]) || now.Before(m.reclaimFailedUntil[model.PIDPressure]) {
		next = m.opts.MaxInterval // no pod can be evicted: frequent checks would not help
	}
	if !wake.IsZero() {
		next = min(next, max(wake.Sub(now), m.opts.MinInterval))
	}
	return next
}

// memoryInterval returns how long the memory check may wait.
func (m *Manager) memoryInterval(stat *nodepressure.Stat) time.Duration {
	if !stat.Known {
		return m.opts.MaxInterval
	}
	if a := m.watch.alarm; a != nil && !a.Adjustable() && m.memory.Usage < a.Level() {
		return m.opts.MaxInterval // the alarm fires first
	}
	remaining := stat.Available - maxRequired(m.thresholds.memory, stat.Capacity)
	next := timeToConsume(remaining+m.reclaimableCache(), maxBytesPerSecond)
	if remaining <= 0 {
		next = min(next, 10*m.opts.MinInterval)
	}
	return next
}

// reclaimableCache returns the page cache that nodepressure may count as available memory. It returns 0 without
// ConfirmPageCache.
func (m *Manager) reclaimableCache() int64 {
	if m.opts.Config.Options.ConfirmPageCache {
		return m.memory.WorkingCache() + m.unaccountedCache
	}
	return 0
}

// timeToConsume returns how long an amount lasts at a rate per second.
func timeToConsume(amount, perSecond int64) time.Duration {
	if amount <= 0 {
		return 0
	}
	return time.Duration(float64(amount) / float64(perSecond) * float64(time.Second))
}
