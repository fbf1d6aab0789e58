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

// repeatInterval is the minimum time between reports of a shortage for which no pod can be
// evicted: the kubelet's monitoring period.
const repeatInterval = 10 * time.Second

func (m *Manager) execute(ctx context.Context, wg *sync.WaitGroup, now time.Time, e nodepressure.Effect) {
	switch e := e.(type) {
	case nodepressure.Evict:
		if usesDisk(e.Cause) {
			m.evictForDisk(ctx, wg, now, e)
		} else {
			m.evict(now, &e)
		}
	case nodepressure.ReclaimNodeResources:
		m.collectGarbage(ctx, wg, e)
	case nodepressure.ThresholdMet:
		if !now.Before(m.reclaimFailedUntil[e.Signal.Pressure()]) {
			m.recordNodeEvent(corev1.EventTypeWarning, nodepressure.ReasonThresholdMet, "Attempting to reclaim "+e.Resource)
		}
	case nodepressure.NoVictim:
		if until := &m.reclaimFailedUntil[e.Signal.Pressure()]; !now.Before(*until) {
			m.opts.Log.Info("Unable to evict any pods", "signal", e.Signal.String())
			*until = now.Add(repeatInterval)
		}
	case nodepressure.ConditionChanged:
		m.agent.Report(m.opts.Node)
	}
}

// maxHardGraceSeconds is the longest grace period that counts as none: the manager kills the pod
// itself before it reports the eviction.
const maxHardGraceSeconds = 1

// evict evicts a pod that uses memory or process IDs; see evictForDisk. Without a grace period it
// kills the pod's cgroup; otherwise the agent stops the pod.
func (m *Manager) evict(now time.Time, e *nodepressure.Evict) {
	pod := m.observedPod(types.UID(e.Pod.UID))
	if pod == nil {
		return // no longer on the node
	}
	hard := isHard(e)
	m.setTerminating(pod.UID, now, e)
	var err error
	if hard {
		err = m.kill(pod, now)
	}
	m.agent.Evict(NewEviction(pod, e, hard, time.Now(), func() { m.podTerminated(pod.UID) }))
	m.reportEviction(pod, now, e, err)
}

// isHard reports whether the manager kills the pod itself.
func isHard(e *nodepressure.Evict) bool {
	_, isSignal := nodepressure.ParseSignal(e.Cause)
	return e.Grace <= maxHardGraceSeconds && isSignal
}

// setTerminating records that a pod is being evicted.
func (m *Manager) setTerminating(pod types.UID, now time.Time, e *nodepressure.Evict) {
	deadline := now
	if !isHard(e) {
		deadline = now.Add(time.Duration(e.Grace) * time.Second)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.terminating[pod] = termination{deadline: deadline}
}

// kill kills the cgroup of a terminating pod. decided is the time of the decision. killLateProcesses kills
// processes that enter the cgroup later.
func (m *Manager) kill(pod *corev1.Pod, decided time.Time) error {
	cgroup := m.opts.Stats.Cgroup(pod)
	err := m.opts.Host.Kill(cgroup)
	killed := time.Now()
	m.opts.Metrics.reaction.Observe(killed.Sub(decided).Seconds())
	if m.opts.OnKill != nil {
		m.opts.OnKill(pod, killed)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastKilled = killed
	if d, ok := m.terminating[pod.UID]; ok {
		d.cgroup = cgroup
		m.terminating[pod.UID] = d
	}
	return err
}

// reportEviction reports an eviction in the log, in metrics and as an event. decided is the time of the
// decision. err is the error of killing the pod's cgroup, or nil.
func (m *Manager) reportEviction(pod *corev1.Pod, decided time.Time, e *nodepressure.Evict, err error) {
	if err != nil { // the agent still stops it through the runtime
		m.opts.Log.Error(err, "Failed to kill the cgroup of an evicted pod", "pod", e.Pod.Namespace+"/"+e.Pod.Name)
	}
	m.opts.Metrics.evictions.WithLabelValues(e.Cause).Inc()
	m.opts.Metrics.statsAge.WithLabelValues(e.Cause).Observe(time.Since(decided).Seconds())
	m.opts.Log.Info("Evicted pod", "pod", e.Pod.Namespace+"/"+e.Pod.Name, "cause", e.Cause, "graceSeconds", e.Grace, "message", e.Message)
	RecordEviction(m.opts.Events, pod, e, time.Now())
}

// podTerminated is called when an evicted pod has terminated.
func (m *Manager) podTerminated(uid types.UID) {
	m.mu.Lock()
	delete(m.terminating, uid)
	m.mu.Unlock()
	m.watch.wake()
}

// observedPod returns the pod as last observed, or nil.
func (m *Manager) observedPod(uid types.UID) *corev1.Pod {
	for _, p := range m.observedPods {
		if p.UID == uid {
			return p
		}
	}
	return nil
}

// killLateProcesses kills processes that entered the cgroups of killed pods: containers that were
// just starting.
func (m *Manager) killLateProcesses(now time.Time) {
	m.mu.Lock()
	if now.Sub(m.lastKilled) < 200*time.Millisecond {
		m.mu.Unlock()
		return
	}
	var paths []string
	for _, d := range m.terminating {
		if d.cgroup != "" {
			paths = append(paths, d.cgroup)
		}
	}
	if len(paths) > 0 {
		m.lastKilled = now
	}
	m.mu.Unlock()
	for _, path := range paths {
		m.logError("kill", m.opts.Host.Kill(path))
	}
}

// recordNodeEvent records an event about the node.
func (m *Manager) recordNodeEvent(eventType, reason, message string) {
	if m.opts.Events == nil {
		return
	}
	node := &corev1.ObjectReference{Kind: "Node", Name: m.opts.Node, UID: types.UID(m.opts.Node)}
	m.opts.Events.Event(node, eventType, reason, message)
}
