//go:build linux

package pressure

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/engine/nodepressure"
)

// setAlarm installs the memory alarm that the kernel offers. Without an alarm the manager only
// polls.
func (m *Manager) setAlarm() {
	if m.opts.NoAlarm || len(m.thresholds.memory) == 0 {
		return
	}
	capacity, err := m.nodeStats.Memory(&m.memory)
	if err == nil {
		err = m.installAlarm(capacity)
	}
	if err != nil {
		m.opts.Log.Error(err, "Failed to set memory alarm, polling memory only")
	}
}

func (m *Manager) installAlarm(capacity int64) error {
	need := maxRequired(m.thresholds.memory, capacity)
	if need <= 0 || need >= capacity {
		return fmt.Errorf("memory threshold of %d bytes: must be more than 0 and less than the capacity of %d bytes", need, capacity)
	}
	path, levels := m.opts.Cgroup, v1AlarmLevels(capacity, need)
	if m.opts.Host.Mode == cgroup.V2 {
		levels = []int64{capacity - need + alarmSlack(need)}
		if path == "/" { // the root cgroup has no memory.high
			if err := m.opts.Host.Create(m.opts.Pods, cgroup.Limits{}); err != nil {
				return err
			}
			path = m.opts.Pods
		}
		if m.memory.Usage >= levels[0] { // mostly page cache; moveAlarm lowers the level later
			levels[0] = m.memory.Usage + alarmSlack(need)
		}
	}
	a, err := m.opts.Host.NewMemoryNotifier(path, levels)
	if err == nil {
		m.watch.set(path, a)
	}
	return err
}

// v1AlarmLevels returns the usage levels for cgroup v1 in bytes: an early one, the threshold itself, and
// some above it. Usage includes page cache and may far exceed the working set.
func v1AlarmLevels(capacity, need int64) []int64 {
	threshold := capacity - need
	levels := []int64{max(threshold-max(need, capacity/16), threshold/2), threshold}
	for i := range int64(3) {
		levels = append(levels, threshold+need*(i+1)/4)
	}
	return levels
}

// alarmSlack returns how many bytes above the threshold memory.high is set on cgroup v2. The kernel
// throttles usage there, so the threshold must be below it.
func alarmSlack(need int64) int64 { return min(need/16, 4<<20) }

// moveAlarm adjusts memory.high on cgroup v2 to the usage at which the node crosses its
// threshold.
func (m *Manager) moveAlarm(now time.Time) {
	a := m.watch.alarm
	if a == nil || !a.Adjustable() || now.Sub(m.lastAlarmMove) < m.opts.MaxInterval {
		return
	}
	m.lastAlarmMove = now
	stat := &m.obs.Signals[nodepressure.MemoryAvailable]
	need := maxRequired(m.thresholds.memory, stat.Capacity)
	usage, level := m.memory.Usage, stat.Capacity-need+alarmSlack(need)
	if m.watch.path != m.opts.Cgroup {
		if _, ok, err := m.nodeStats.Allocatable(&m.pods); err != nil || !ok {
			return
		}
		usage = m.pods.Usage
		level = m.pods.WorkingSet() + max(stat.Available-need, 0) + alarmSlack(need)
	}
	level = max(level, usage+alarmSlack(need))
	if change := level - a.Level(); change > need/16 || change < -need/16 {
		m.logError("alarm", a.SetLevel(level))
	}
}
