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

func (s *Manager) execute(ctx context.Context, wg *sync.WaitGroup, now time.Time, e nodepressure.Effect) {
	switch e := e.(type) {
	case nodepressure.Evict:
		if usesDisk(e.Cause) {
			s.evictForDisk(ctx, wg, now, e)
		} else {
			s.evict(now, &e)
		}
	case nodepressure.ReclaimNodeResources:
		s.collectGarbage(ctx, wg, e)
	case nodepressure.ThresholdMet:
		if !now.Before(s.reclaimFailedUntil[e.Signal.Pressure()]) {
			s.recordNodeEvent(corev1.EventTypeWarning, nodepressure.ReasonThresholdMet, "Attempting to reclaim "+e.Resource)
		}
	case nodepressure.NoVictim:
		if until := &s.reclaimFailedUntil[e.Signal.Pressure()]; !now.Before(*until) {
			s.opts.Log.Info("Unable to evict any pods", "signal", e.Signal.String())
			*until = now.Add(repeatInterval)
		}
	case nodepressure.ConditionChanged:
		s.agent.Report(s.opts.Node)
	}
}

// maxHardGraceSeconds is the longest grace period that counts as none: the manager kills the pod
// itself before it reports the eviction.
const maxHardGraceSeconds = 1

// evict evicts a pod that uses memory or process IDs; see evictForDisk. Without a grace period it
// kills the pod's cgroup; otherwise the agent stops the pod.
func (s *Manager) evict(now time.Time, e *nodepressure.Evict) {
	pod := s.observedPod(types.UID(e.Pod.UID))
	if pod == nil {
		return // no longer on the node
	}
	hard := isHard(e)
	s.setTerminating(pod.UID, now, e)
	var err error
	if hard {
		err = s.kill(pod, now)
	}
	s.agent.Evict(NewEviction(pod, e, hard, time.Now(), func() { s.podTerminated(pod.UID) }))
	s.reportEviction(pod, now, e, err)
}

// isHard reports whether the manager kills the pod itself.
func isHard(e *nodepressure.Evict) bool {
	_, isSignal := nodepressure.ParseSignal(e.Cause)
	return e.Grace <= maxHardGraceSeconds && isSignal
}

// setTerminating records that a pod is being evicted.
func (s *Manager) setTerminating(pod types.UID, now time.Time, e *nodepressure.Evict) {
	deadline := now
	if !isHard(e) {
		deadline = now.Add(time.Duration(e.Grace) * time.Second)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terminating[pod] = termination{deadline: deadline}
}

// kill kills the cgroup of a terminating pod. decided is the time of the decision. killLateProcesses kills
// processes that enter the cgroup later.
func (s *Manager) kill(pod *corev1.Pod, decided time.Time) error {
	cgroup := s.opts.Stats.Cgroup(pod)
	err := s.opts.Host.Kill(cgroup)
	killed := time.Now()
	s.opts.Metrics.reaction.Observe(killed.Sub(decided).Seconds())
	if s.opts.OnKill != nil {
		s.opts.OnKill(pod, killed)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastKilled = killed
	if d, ok := s.terminating[pod.UID]; ok {
		d.cgroup = cgroup
		s.terminating[pod.UID] = d
	}
	return err
}

// reportEviction reports an eviction in the log, in metrics and as an event. decided is the time of the
// decision. err is the error of killing the pod's cgroup, or nil.
func (s *Manager) reportEviction(pod *corev1.Pod, decided time.Time, e *nodepressure.Evict, err error) {
	if err != nil { // the agent still stops it through the runtime
		s.opts.Log.Error(err, "Failed to kill the cgroup of an evicted pod", "pod", e.Pod.Namespace+"/"+e.Pod.Name)
	}
	s.opts.Metrics.evictions.WithLabelValues(e.Cause).Inc()
	s.opts.Metrics.statsAge.WithLabelValues(e.Cause).Observe(time.Since(decided).Seconds())
	s.opts.Log.Info("Evicted pod", "pod", e.Pod.Namespace+"/"+e.Pod.Name, "cause", e.Cause, "graceSeconds", e.Grace, "message", e.Message)
	RecordEviction(s.opts.Events, pod, e, time.Now())
}

// podTerminated is called when an evicted pod has terminated.
func (s *Manager) podTerminated(uid types.UID) {
	s.mu.Lock()
	delete(s.terminating, uid)
	s.mu.Unlock()
	s.watch.wake()
}

// observedPod returns the pod as last observed, or nil.
func (s *Manager) observedPod(uid types.UID) *corev1.Pod {
	for _, p := range s.observedPods {
		if p.UID == uid {
			return p
		}
	}
	return nil
}

// killLateProcesses kills processes that entered the cgroups of killed pods: containers that were
// just starting.
func (s *Manager) killLateProcesses(now time.Time) {
	s.mu.Lock()
	if now.Sub(s.lastKilled) < 200*time.Millisecond {
		s.mu.Unlock()
		return
	}
	var paths []string
	for _, d := range s.terminating {
		if d.cgroup != "" {
			paths = append(paths, d.cgroup)
		}
	}
	if len(paths) > 0 {
		s.lastKilled = now
	}
	s.mu.Unlock()
	for _, path := range paths {
		s.logError("kill", s.opts.Host.Kill(path))
	}
}

// recordNodeEvent records an event about the node.
func (s *Manager) recordNodeEvent(eventType, reason, message string) {
	if s.opts.Events == nil {
		return
	}
	node := &corev1.ObjectReference{Kind: "Node", Name: s.opts.Node, UID: types.UID(s.opts.Node)}
	s.opts.Events.Event(node, eventType, reason, message)
}
