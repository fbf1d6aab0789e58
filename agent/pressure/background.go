//go:build linux

package pressure

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/nodepressure"
)

// Intervals of the measurement of the pods' disk usage.
const (
	measureIntervalWithLimits = 10 * time.Second
	measureInterval           = time.Minute
	// If pods have limits, a decrease of the available space by shrinkBytes since the last measurement triggers the next
	// one.
	shrinkBytes = 16 << 20
	// minMeasureInterval is the minimum time between the starts of a measurement and of one triggered by shrinkBytes.
	// The minimum is longer if the last measurement was slow: ten times its duration.
	minMeasureInterval = time.Second
	// maxDiskUsageAge is the maximum age of disk usage on which an eviction is based.
	maxDiskUsageAge = 10 * time.Second
)

// collectGarbage deletes terminated containers and unused images in the background.
func (m *Manager) collectGarbage(ctx context.Context, wg *sync.WaitGroup, e nodepressure.ReclaimNodeResources) {
	wg.Go(func() {
		var err error
		if m.opts.Collect != nil {
			err = m.opts.Collect(ctx, e.Containers, e.Images)
		}
		now := time.Now()
		for _, d := range m.disks {
			if d != nil {
				_, _ = d.Refresh(now)
			}
		}
		m.mu.Lock()
		m.collected = true
		m.mu.Unlock()
		if err != nil {
			m.opts.Log.Error(err, "Failed to collect garbage")
		}
		m.watch.wake()
	})
}

// diskUsageIsRecent reports whether the pods' disk usage is recent, and otherwise requests a
// measurement.
func (m *Manager) diskUsageIsRecent(now time.Time) bool {
	m.mu.Lock()
	completed := m.measurements
	m.mu.Unlock()
	if measuredAt := m.opts.Stats.Measured(); completed > m.requiredMeasurements && now.Sub(measuredAt) < maxDiskUsageAge {
		return true
	}
	m.measureNow = true
	return false
}

// remeasure invalidates disk usage after an eviction for a disk signal.
func (m *Manager) remeasure(cause string) {
	signal, ok := nodepressure.ParseSignal(cause)
	if !ok || signal.Pressure() != nodepressure.NodeFsAvailable.Pressure() {
		return
	}
	m.invalidateDiskUsage()
}

// invalidateDiskUsage requires a new measurement before the next decision on disk signals. A
// measurement that is already running does not count.
func (m *Manager) invalidateDiskUsage() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requiredMeasurements = m.measurements
	if m.measuring {
		m.requiredMeasurements++
	}
}

// startBackgroundTasks starts tasks that are due: measuring disk usage and opening the stat files
// of new pods.
func (m *Manager) startBackgroundTasks(ctx context.Context, wg *sync.WaitGroup, now time.Time) {
	interval := measureInterval
	if m.hasDiskLimits.Load() {
		interval = measureIntervalWithLimits
	}
	measure := m.measureNow || now.Sub(m.lastMeasure) >= interval || m.hasDiskLimits.Load() && m.spaceShrinks(now)
	prepare := now.Sub(m.lastPrepare) >= measureIntervalWithLimits
	if !measure && !prepare {
		return
	}
	m.mu.Lock()
	busy := m.measuring
	m.measuring = true
	m.mu.Unlock()
	if busy {
		return
	}
	m.lastPrepare, m.measureNow = now, false
	if measure {
		m.lastMeasure, m.lastAvailable = now, m.availableBytes()
	}
	wg.Go(func() {
		start := time.Now()
		pods := m.agent.Pods(m.opts.Node)
		m.opts.Stats.Prepare(pods)
		m.hasDiskLimits.Store(anyDiskLimits(pods))
		if measure {
			m.logError("pods' disks", m.opts.Stats.Measure(ctx, pods))
		}
		m.mu.Lock()
		m.measuring = false
		if measure {
			m.measurements++
			m.measureDuration = time.Since(start)
		}
		m.mu.Unlock()
		if measure {
			m.watch.wake()
		}
	})
}

// spaceShrinks reports whether the disks have much less space available than at the last
// measurement, so that a pod may exceed a limit.
func (m *Manager) spaceShrinks(now time.Time) bool {
	m.mu.Lock()
	pause := max(minMeasureInterval, 10*m.measureDuration)
	m.mu.Unlock()
	return now.Sub(m.lastMeasure) >= pause && m.lastAvailable-m.availableBytes() >= shrinkBytes
}

// availableBytes returns the available space of the disks that pods fill.
func (m *Manager) availableBytes() int64 {
	return m.obs.Signals[nodepressure.NodeFsAvailable].Available + m.obs.Signals[nodepressure.ContainerFsAvailable].Available
}

// anyDiskLimits reports whether a pod has, or may have, a limit on local storage.
func anyDiskLimits(pods []*corev1.Pod) bool {
	for _, p := range pods {
		for i := range p.Spec.Volumes {
			v := &p.Spec.Volumes[i]
			if v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil || v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
				return true
			}
		}
		for _, containers := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
			for i := range containers {
				if _, ok := containers[i].Resources.Limits[corev1.ResourceEphemeralStorage]; ok {
					return true
				}
			}
		}
	}
	return false
}
