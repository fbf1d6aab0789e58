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
func (s *Manager) collectGarbage(ctx context.Context, wg *sync.WaitGroup, e nodepressure.ReclaimNodeResources) {
	wg.Go(func() {
		var err error
		if s.opts.Collect != nil {
			err = s.opts.Collect(ctx, e.Containers, e.Images)
		}
		now := time.Now()
		for _, d := range s.disks {
			if d != nil {
				_, _ = d.Refresh(now)
			}
		}
		s.mu.Lock()
		s.collected = true
		s.mu.Unlock()
		if err != nil {
			s.opts.Log.Error(err, "Failed to collect garbage")
		}
		s.watch.wake()
	})
}

// diskUsageIsRecent reports whether the pods' disk usage is recent, and otherwise requests a
// measurement.
func (s *Manager) diskUsageIsRecent(now time.Time) bool {
	s.mu.Lock()
	completed := s.measurements
	s.mu.Unlock()
	if measuredAt := s.opts.Stats.Measured(); completed > s.requiredMeasurements && now.Sub(measuredAt) < maxDiskUsageAge {
		return true
	}
	s.measureNow = true
	return false
}

// remeasure invalidates disk usage after an eviction for a disk signal.
func (s *Manager) remeasure(cause string) {
	signal, ok := nodepressure.ParseSignal(cause)
	if !ok || signal.Pressure() != nodepressure.NodeFsAvailable.Pressure() {
		return
	}
	s.invalidateDiskUsage()
}

// invalidateDiskUsage requires a new measurement before the next decision on disk signals. A
// measurement that is already running does not count.
func (s *Manager) invalidateDiskUsage() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requiredMeasurements = s.measurements
	if s.measuring {
		s.requiredMeasurements++
	}
}

// startBackgroundTasks starts tasks that are due: measuring disk usage and opening the stat files
// of new pods.
func (s *Manager) startBackgroundTasks(ctx context.Context, wg *sync.WaitGroup, now time.Time) {
	interval := measureInterval
	if s.hasDiskLimits.Load() {
		interval = measureIntervalWithLimits
	}
	measure := s.measureNow || now.Sub(s.lastMeasure) >= interval || s.hasDiskLimits.Load() && s.spaceShrinks(now)
	prepare := now.Sub(s.lastPrepare) >= measureIntervalWithLimits
	if !measure && !prepare {
		return
	}
	s.mu.Lock()
	busy := s.measuring
	s.measuring = true
	s.mu.Unlock()
	if busy {
		return
	}
	s.lastPrepare, s.measureNow = now, false
	if measure {
		s.lastMeasure, s.lastAvailable = now, s.availableBytes()
	}
	wg.Go(func() {
		start := time.Now()
		pods := s.agent.Pods(s.opts.Node)
		s.opts.Stats.Prepare(pods)
		s.hasDiskLimits.Store(anyDiskLimits(pods))
		if measure {
			s.logError("pods' disks", s.opts.Stats.Measure(ctx, pods))
		}
		s.mu.Lock()
		s.measuring = false
		if measure {
			s.measurements++
			s.measureDuration = time.Since(start)
		}
		s.mu.Unlock()
		if measure {
			s.watch.wake()
		}
	})
}

// spaceShrinks reports whether the disks have much less space available than at the last
// measurement, so that a pod may exceed a limit.
func (s *Manager) spaceShrinks(now time.Time) bool {
	s.mu.Lock()
	pause := max(minMeasureInterval, 10*s.measureDuration)
	s.mu.Unlock()
	return now.Sub(s.lastMeasure) >= pause && s.lastAvailable-s.availableBytes() >= shrinkBytes
}

// availableBytes returns the available space of the disks that pods fill.
func (s *Manager) availableBytes() int64 {
	return s.obs.Signals[nodepressure.NodeFsAvailable].Available + s.obs.Signals[nodepressure.ContainerFsAvailable].Available
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
