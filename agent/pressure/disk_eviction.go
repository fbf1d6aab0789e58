//go:build linux

package pressure

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/nodepressure"
)

// maxFreeze bounds how long a pod is frozen to measure it.
const maxFreeze = 2 * time.Second

// usesDisk reports whether evictions for a cause free disk space: those for disk signals and for
// limits on local storage.
func usesDisk(cause string) bool {
	signal, ok := nodepressure.ParseSignal(cause)
	return !ok || signal.Pressure() == nodepressure.NodeFsAvailable.Pressure()
}

// evictForDisk evicts a pod that uses disk space. Since it was selected it may have written much
// more, so it is measured again for the message, in the background. A pod that is killed without a
// grace period is frozen in the meantime. When the pod has terminated, its data is deleted.
func (m *Manager) evictForDisk(ctx context.Context, wg *sync.WaitGroup, now time.Time, e nodepressure.Evict) {
	pod := m.observedPod(types.UID(e.Pod.UID))
	if pod == nil {
		return // no longer on the node
	}
	m.setTerminating(pod.UID, now, &e)
	m.remeasure(e.Cause)
	wg.Go(func() {
		hard, thaw := isHard(&e), func() {}
		if hard {
			thaw = m.opts.Host.Freeze(m.opts.Stats.Cgroup(pod))
		}
		m.measureVictim(ctx, pod)
		e.Update(m.opts.Stats.PodStats(pod.UID))
		// The agent must have the eviction before the containers exit, or it restarts them.
		m.agent.Evict(NewEviction(pod, &e, hard, time.Now(), func() {
			m.podTerminated(pod.UID)
			if m.opts.Purge != nil {
				m.opts.Purge(pod.UID)
			}
		}))
		var err error
		if hard {
			err = m.kill(pod, now)
		}
		thaw()
		m.reportEviction(pod, now, &e, err)
	})
}

// measureVictim measures the disk usage of a pod, but does not wait longer than maxFreeze.
func (m *Manager) measureVictim(ctx context.Context, pod *corev1.Pod) {
	ctx, cancel := context.WithTimeout(ctx, maxFreeze)
	done := make(chan error, 1)
	go func() {
		defer cancel()
		done <- m.opts.Stats.MeasurePod(ctx, pod)
	}()
	select {
	case err := <-done:
		m.logError("evicted pod's disk", err)
	case <-ctx.Done():
	}
}
