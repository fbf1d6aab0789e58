package pressure

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/pressure"
)

// observe reads the node's figures into obs. It allocates nothing while nothing
// fails, but near a threshold where the kernel's counts lag (near).
func (s *Shell) observe(now time.Time) {
	s.observeMemory(now)
	s.observeDisks(now)
	if len(s.needs.processes) > 0 || s.watches(pressure.PIDAvailable) {
		running, limit, err := s.figures.Processes()
		s.signal(pressure.PIDAvailable, now, limit-running, limit, err)
	}
}

// watches says that a threshold is set for the signal.
func (s *Shell) watches(of pressure.Signal) bool {
	all := s.machine.Thresholds()
	for i := range all {
		if all[i].Signal == of {
			return true
		}
	}
	return false
}

func (s *Shell) signal(of pressure.Signal, at time.Time, available, capacity int64, err error) {
	s.obs.Signals[of] = pressure.Stat{Known: err == nil, Available: available, Capacity: capacity, Time: at}
	if err != nil {
		s.fault(of.String(), err)
	}
}

func (s *Shell) observeMemory(now time.Time) {
	capacity, err := s.figures.Memory(&s.memory)
	s.signal(pressure.MemoryAvailable, now, capacity-s.memory.WorkingSet(), capacity, err)
	s.obs.Cache = pressure.Cache{Known: err == nil, Active: s.memory.WorkingCache(), Refaults: s.memory.Refaults, Stalled: -1}
	if err == nil && s.near() {
		s.hidden = max(s.opts.Stats.PageCache(s.agent.Pods(s.opts.Node))-s.pods.File, 0)
		s.obs.Cache.Active += s.hidden
	}
	if s.figures.HasStalls() && s.figures.Stall(&s.stall) == nil {
		s.obs.Cache.Stalled = s.stall.Some
	}
	if !s.needs.allocatable {
		return
	}
	capacity, ok, err := s.figures.Allocatable(&s.pods)
	if !ok && err == nil { // no pod was here yet
		s.obs.Signals[pressure.AllocatableMemoryAvailable] = pressure.Stat{}
		return
	}
	s.signal(pressure.AllocatableMemoryAvailable, now, capacity-s.pods.WorkingSet(), capacity, err)
}

// near says that memory may be short, and that it would matter to know what the
// kernel has not counted yet.
func (s *Shell) near() bool {
	s.hidden = 0
	stat := &s.obs.Signals[pressure.MemoryAvailable]
	if !s.opts.Config.Options.Confirm || stat.Available > most(s.needs.memory, stat.Capacity)+stat.Capacity/4 {
		return false
	}
	_, ok, err := s.figures.Allocatable(&s.pods)
	return ok && err == nil && s.pods.Unaccounted() > uncounted
}

// uncounted is how much memory may be unaccounted before pods are asked for theirs.
const uncounted = 16 << 20

// observeDisks reads the file systems. While one is low and the pods' disk use is
// not known afresh, the figures keep their old time, so that they end nobody.
func (s *Shell) observeDisks(now time.Time) {
	for of, d := range s.disks {
		if d == nil {
			continue
		}
		u, err := d.Usage(now)
		available, capacity := u.Available, u.Capacity
		if pressure.Signal(of).Resource() == pressure.Inodes {
			available, capacity = u.InodesFree, u.Inodes
		}
		s.signal(pressure.Signal(of), u.At, available, capacity, err)
		// A file system without a count of inodes (btrfs) has none to run short of.
		if capacity == 0 {
			s.obs.Signals[of].Known = false
		}
	}
	if len(s.needs.disk) == 0 {
		return
	}
	low := s.needs.lowDisk(&s.obs)
	if low && !s.low {
		s.forgetDisks() // what was measured before tells nothing of who has filled it
	}
	s.low = low
	hold := low && (now.Before(s.unable[model.DiskPressure]) || !s.diskKnown(now))
	for of, d := range s.disks {
		stat := &s.obs.Signals[of]
		switch {
		case d == nil || !stat.Known:
		case !hold:
			s.given[of] = stat.Time
		case s.given[of].IsZero():
			stat.Known = false
		default:
			stat.Time = s.given[of]
		}
	}
}

// observePods reads the figures of all pods, when the machine asks for them. It
// is called with mu held.
func (s *Shell) observePods() []pressure.Pod {
	s.list = s.agent.Pods(s.opts.Node)
	return s.opts.Stats.Observe(s.list, s.diesBy)
}

func (s *Shell) diesBy(uid types.UID) time.Time { return s.dying[uid].by }
