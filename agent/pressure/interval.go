package pressure

import (
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
)

// How fast things are taken to go short at worst: several programs together touch
// memory at a few GiB/s, and two CPUs fork some thousand times a second.
const (
	maxBytesPerSecond = 8 << 30
	maxForksPerSecond = 20_000
)

// thresholds are the thresholds that the pace goes by: hard ones. Soft ones have
// time, and are looked at by the slow pace.
type thresholds struct {
	memory, processes []nodepressure.Value
	allocatable       bool // somebody sets a threshold for it
	disk              []nodepressure.Threshold
}

func (n *thresholds) add(all []nodepressure.Threshold) {
	for _, t := range all {
		switch t.Signal {
		case nodepressure.MemoryAvailable:
			if t.Hard() {
				n.memory = append(n.memory, t.Value)
			}
		case nodepressure.AllocatableMemoryAvailable:
			n.allocatable = true
		case nodepressure.PIDAvailable:
			if t.Hard() {
				n.processes = append(n.processes, t.Value)
			}
		default:
			n.disk = append(n.disk, t)
		}
	}
}

// maxRequired is the highest of the values, for a capacity.
func maxRequired(values []nodepressure.Value, capacity int64) (need int64) {
	for i := range values {
		need = max(need, values[i].Of(capacity).Amount)
	}
	return need
}

// lowDisk says that a disk has less than some threshold asks for.
func (n *thresholds) lowDisk(o *nodepressure.Observation) bool {
	for i := range n.disk {
		t := &n.disk[i]
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

// nextInterval is how long to wait until the next look, if nothing rings before.
func (s *Manager) nextInterval(now, wake time.Time) time.Duration {
	next := s.opts.MaxInterval
	if len(s.thresholds.memory) > 0 {
		next = min(next, s.memoryInterval(&s.obs.Signals[nodepressure.MemoryAvailable]))
	}
	if stat := &s.obs.Signals[nodepressure.PIDAvailable]; len(s.thresholds.processes) > 0 && stat.Known {
		next = min(next, timeToConsume(stat.Available-maxRequired(s.thresholds.processes, stat.Capacity), maxForksPerSecond))
	}
	next = max(next, s.opts.MinInterval)
	if now.Before(s.reclaimFailedUntil[model.MemoryPressure]) || now.Before(s.reclaimFailedUntil[model.PIDPressure]) {
		next = s.opts.MaxInterval // there is nobody to end: looking often does not help
	}
	if !wake.IsZero() {
		next = min(next, max(wake.Sub(now), s.opts.MinInterval))
	}
	return next
}

// memoryInterval is how long memory may be left alone.
func (s *Manager) memoryInterval(stat *nodepressure.Stat) time.Duration {
	if !stat.Known {
		return s.opts.MaxInterval
	}
	if a := s.watch.alarm; a != nil && !a.Adjustable() && s.memory.Usage < a.Level() {
		return s.opts.MaxInterval // it rings before
	}
	left := stat.Available - maxRequired(s.thresholds.memory, stat.Capacity)
	next := timeToConsume(left+s.reclaimableCache(), maxBytesPerSecond)
	if left <= 0 {
		next = min(next, 10*s.opts.MinInterval)
	}
	return next
}

// reclaimableCache is the page cache that the machine does not count at once.
func (s *Manager) reclaimableCache() int64 {
	if s.opts.Config.Options.ConfirmPageCache {
		return s.memory.WorkingCache() + s.unaccountedCache
	}
	return 0
}

// timeToConsume is the time in which so much is used up at so much a second.
func timeToConsume(left, aSecond int64) time.Duration {
	if left <= 0 {
		return 0
	}
	return time.Duration(float64(left) / float64(aSecond) * float64(time.Second))
}
