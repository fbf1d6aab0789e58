//go:build linux

package pressure

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
)

// observe reads the node's statistics into obs. It does not allocate, unless an error occurs or
// memoryNearThreshold returns true.
func (s *Manager) observe(now time.Time) {
	s.observeMemory(now)
	s.observeDisks(now)
	if len(s.thresholds.processes) > 0 || s.hasThreshold(nodepressure.PIDAvailable) {
		running, limit, err := s.nodeStats.Processes()
		s.setSignal(nodepressure.PIDAvailable, now, limit-running, limit, err)
	}
}

func (s *Manager) hasThreshold(signal nodepressure.Signal) bool {
	thresholds := s.machine.Thresholds()
	for i := range thresholds {
		if thresholds[i].Signal == signal {
			return true
		}
	}
	return false
}

func (s *Manager) setSignal(signal nodepressure.Signal, observedAt time.Time, available, capacity int64, err error) {
	s.obs.Signals[signal] = nodepressure.Stat{Known: err == nil, Available: available, Capacity: capacity, Time: observedAt}
	if err != nil {
		s.logError(signal.String(), err)
	}
}

func (s *Manager) observeMemory(now time.Time) {
	capacity, err := s.nodeStats.Memory(&s.memory)
	s.setSignal(nodepressure.MemoryAvailable, now, capacity-s.memory.WorkingSet(), capacity, err)
	s.obs.PageCache = nodepressure.PageCache{Known: err == nil, Active: s.memory.WorkingCache(), Refaults: s.memory.Refaults, StallTime: -1}
	if err == nil && s.memoryNearThreshold() {
		s.unaccountedCache = max(s.opts.Stats.PageCache(s.agent.Pods(s.opts.Node))-s.pods.File, 0)
		s.obs.PageCache.Active += s.unaccountedCache
	}
	if s.nodeStats.HasPSI() && s.nodeStats.PSI(&s.stall) == nil {
		s.obs.PageCache.StallTime = s.stall.Some.Total
	}
	if !s.thresholds.allocatable {
		return
	}
	capacity, ok, err := s.nodeStats.Allocatable(&s.pods)
	if !ok && err == nil { // no pod has run yet
		s.obs.Signals[nodepressure.AllocatableMemoryAvailable] = nodepressure.Stat{}
		return
	}
	s.setSignal(nodepressure.AllocatableMemoryAvailable, now, capacity-s.pods.WorkingSet(), capacity, err)
}

// memoryNearThreshold reports whether memory may be short while the kernel's counters lag, so
// that the per-pod counters are worth reading. It resets unaccountedCache.
func (s *Manager) memoryNearThreshold() bool {
	s.unaccountedCache = 0
	stat := &s.obs.Signals[nodepressure.MemoryAvailable]
	if !s.opts.Config.Options.ConfirmPageCache || stat.Available > maxRequired(s.thresholds.memory, stat.Capacity)+stat.Capacity/4 {
		return false
	}
	_, ok, err := s.nodeStats.Allocatable(&s.pods)
	return ok && err == nil && s.pods.Unaccounted() > maxUnaccounted
}

// maxUnaccounted is how much memory may be unaccounted before the per-pod counters are read.
const maxUnaccounted = 16 << 20

// observeDisks reads the file system statistics. While a disk is low and the pods' disk usage is outdated, it does not
// advance the timestamps. Outdated usage therefore evicts no pod.
func (s *Manager) observeDisks(now time.Time) {
	for signal, d := range s.disks {
		if d == nil {
			continue
		}
		u, err := d.Usage(now)
		available, capacity := u.Available, u.Capacity
		if nodepressure.Signal(signal).Resource() == nodepressure.Inodes {
			available, capacity = u.InodesFree, u.Inodes
		}
		s.setSignal(nodepressure.Signal(signal), u.At, available, capacity, err)
		// A file system without an inode limit (btrfs) cannot run out of inodes.
		if capacity == 0 {
			s.obs.Signals[signal].Known = false
		}
	}
	if len(s.thresholds.disk) == 0 {
		return
	}
	low := s.thresholds.lowDisk(&s.obs)
	if low && !s.diskLow {
		s.invalidateDiskUsage() // earlier measurements do not show which pod filled the disk
	}
	s.diskLow = low
	keepTimes := low && (now.Before(s.reclaimFailedUntil[model.DiskPressure]) || !s.diskUsageIsRecent(now))
	for signal, d := range s.disks {
		stat := &s.obs.Signals[signal]
		switch {
		case d == nil || !stat.Known:
		case !keepTimes:
			s.diskStatTimes[signal] = stat.Time
		case s.diskStatTimes[signal].IsZero():
			stat.Known = false
		default:
			stat.Time = s.diskStatTimes[signal]
		}
	}
}

// observePods reads the statistics of all pods at the machine's request. s.mu must be held.
func (s *Manager) observePods() []nodepressure.Pod {
	s.observedPods = s.agent.Pods(s.opts.Node)
	return s.opts.Stats.Observe(s.observedPods, s.terminatesBy)
}

func (s *Manager) terminatesBy(uid types.UID) time.Time { return s.terminating[uid].deadline }
