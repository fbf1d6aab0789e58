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
func (m *Manager) observe(now time.Time) {
	m.observeMemory(now)
	m.observeDisks(now)
	if len(m.thresholds.processes) > 0 || m.hasThreshold(nodepressure.PIDAvailable) {
		running, limit, err := m.nodeStats.Processes()
		m.setSignal(nodepressure.PIDAvailable, now, limit-running, limit, err)
	}
}

func (m *Manager) hasThreshold(signal nodepressure.Signal) bool {
	thresholds := m.machine.Thresholds()
	for i := range thresholds {
		if thresholds[i].Signal == signal {
			return true
		}
	}
	return false
}

func (m *Manager) setSignal(signal nodepressure.Signal, observedAt time.Time, available, capacity int64, err error) {
	m.obs.Signals[signal] = nodepressure.Stat{Known: err == nil, Available: available, Capacity: capacity, Time: observedAt}
	if err != nil {
		m.logError(signal.String(), err)
	}
}

func (m *Manager) observeMemory(now time.Time) {
	capacity, err := m.nodeStats.Memory(&m.memory)
	m.setSignal(nodepressure.MemoryAvailable, now, capacity-m.memory.WorkingSet(), capacity, err)
	m.obs.PageCache = nodepressure.PageCache{Known: err == nil, Active: m.memory.WorkingCache(), Refaults: m.memory.Refaults, StallTime: -1}
	if err == nil && m.memoryNearThreshold() {
		m.unaccountedCache = max(m.opts.Stats.PageCache(m.agent.Pods(m.opts.Node))-m.pods.File, 0)
		m.obs.PageCache.Active += m.unaccountedCache
	}
	if m.nodeStats.HasPSI() && m.nodeStats.PSI(&m.stall) == nil {
		m.obs.PageCache.StallTime = m.stall.Some.Total
	}
	if !m.thresholds.allocatable {
		return
	}
	capacity, ok, err := m.nodeStats.Allocatable(&m.pods)
	if !ok && err == nil { // no pod has run yet
		m.obs.Signals[nodepressure.AllocatableMemoryAvailable] = nodepressure.Stat{}
		return
	}
	m.setSignal(nodepressure.AllocatableMemoryAvailable, now, capacity-m.pods.WorkingSet(), capacity, err)
}

// memoryNearThreshold reports whether memory may be short while the kernel's counters lag, so
// that the per-pod counters are worth reading. It resets unaccountedCache.
func (m *Manager) memoryNearThreshold() bool {
	m.unaccountedCache = 0
	stat := &m.obs.Signals[nodepressure.MemoryAvailable]
	if !m.opts.Config.Options.ConfirmPageCache || stat.Available > maxRequired(m.thresholds.memory, stat.Capacity)+stat.Capacity/4 {
		return false
	}
	_, ok, err := m.nodeStats.Allocatable(&m.pods)
	return ok && err == nil && m.pods.Unaccounted() > maxUnaccounted
}

// maxUnaccounted is how much memory may be unaccounted before the per-pod counters are read.
const maxUnaccounted = 16 << 20

// observeDisks reads the file system statistics. While a disk is low and the pods' disk usage is outdated, it does not
// advance the timestamps. Outdated usage therefore evicts no pod.
func (m *Manager) observeDisks(now time.Time) {
	for signal, d := range m.disks {
		if d == nil {
			continue
		}
		u, err := d.Usage(now)
		available, capacity := u.Available, u.Capacity
		if nodepressure.Signal(signal).Resource() == nodepressure.Inodes {
			available, capacity = u.InodesFree, u.Inodes
		}
		m.setSignal(nodepressure.Signal(signal), u.At, available, capacity, err)
		// A file system without an inode limit (btrfs) cannot run out of inodes.
		if capacity == 0 {
			m.obs.Signals[signal].Known = false
		}
	}
	if len(m.thresholds.disk) == 0 {
		return
	}
	low := m.thresholds.lowDisk(&m.obs)
	if low && !m.diskLow {
		m.invalidateDiskUsage() // earlier measurements do not show which pod filled the disk
	}
	m.diskLow = low
	keepTimes := low && (now.Before(m.reclaimFailedUntil[model.DiskPressure]) || !m.diskUsageIsRecent(now))
	for signal, d := range m.disks {
		stat := &m.obs.Signals[signal]
		switch {
		case d == nil || !stat.Known:
		case !keepTimes:
			m.diskStatTimes[signal] = stat.Time
		case m.diskStatTimes[signal].IsZero():
			stat.Known = false
		default:
			stat.Time = m.diskStatTimes[signal]
		}
	}
}

// observePods reads the statistics of all pods at the machine's request. m.mu must be held.
func (m *Manager) observePods() []nodepressure.Pod {
	m.observedPods = m.agent.Pods(m.opts.Node)
	return m.opts.Stats.Observe(m.observedPods, m.terminatesBy)
}

func (m *Manager) terminatesBy(uid types.UID) time.Time { return m.terminating[uid].deadline }
