package pressure

import (
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/pressure"
)

// How fast things are taken to go short at worst: several programs together touch
// memory at a few GiB/s, and two CPUs fork some thousand times a second.
const (
	bytesASecond = 8 << 30
	forksASecond = 20_000
)

// needs are the thresholds that the pace goes by: hard ones. Soft ones have
// time, and are looked at by the slow pace.
type needs struct {
	memory, processes []pressure.Value
	allocatable       bool // somebody sets a threshold for it
	disk              []pressure.Threshold
}

func (n *needs) of(all []pressure.Threshold) {
	for _, t := range all {
		switch t.Signal {
		case pressure.MemoryAvailable:
			if t.Hard() {
				n.memory = append(n.memory, t.Value)
			}
		case pressure.AllocatableMemoryAvailable:
			n.allocatable = true
		case pressure.PIDAvailable:
			if t.Hard() {
				n.processes = append(n.processes, t.Value)
			}
		default:
			n.disk = append(n.disk, t)
		}
	}
}

// most is the highest of the values, for a capacity.
func most(values []pressure.Value, capacity int64) (need int64) {
	for i := range values {
		need = max(need, values[i].Of(capacity).Amount)
	}
	return need
}

// lowDisk says that a disk has less than some threshold asks for.
func (n *needs) lowDisk(o *pressure.Observation) bool {
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

// pace is how long to wait until the next look, if nothing rings before.
func (s *Shell) pace(now, wake time.Time) time.Duration {
	next := s.opts.Slow
	if len(s.needs.memory) > 0 {
		next = min(next, s.memoryPace(&s.obs.Signals[pressure.MemoryAvailable]))
	}
	if stat := &s.obs.Signals[pressure.PIDAvailable]; len(s.needs.processes) > 0 && stat.Known {
		next = min(next, reach(stat.Available-most(s.needs.processes, stat.Capacity), forksASecond))
	}
	next = max(next, s.opts.Fast)
	if now.Before(s.unable[model.MemoryPressure]) || now.Before(s.unable[model.PIDPressure]) {
		next = s.opts.Slow // there is nobody to end: looking often does not help
	}
	if !wake.IsZero() {
		next = min(next, max(wake.Sub(now), s.opts.Fast))
	}
	return next
}

// memoryPace is how long memory may be left alone.
func (s *Shell) memoryPace(stat *pressure.Stat) time.Duration {
	if !stat.Known {
		return s.opts.Slow
	}
	if a := s.watch.alarm; a != nil && !a.Moves() && s.memory.Usage < a.Level() {
		return s.opts.Slow // it rings before
	}
	left := stat.Available - most(s.needs.memory, stat.Capacity)
	next := reach(left+s.discounted(), bytesASecond)
	if left <= 0 {
		next = min(next, 10*s.opts.Fast)
	}
	return next
}

// discounted is the page cache that the machine does not count at once.
func (s *Shell) discounted() int64 {
	if s.opts.Config.Options.Confirm {
		return s.memory.WorkingCache() + s.hidden
	}
	return 0
}

// reach is the time in which so much is used up at so much a second.
func reach(left, aSecond int64) time.Duration {
	if left <= 0 {
		return 0
	}
	return time.Duration(float64(left) / float64(aSecond) * float64(time.Second))
}
