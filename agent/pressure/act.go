package pressure

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/engine/pressure"
)

// again is how long to tell nothing new about a shortage for which nobody can go: the
// kubelet's period.
const again = 10 * time.Second

func (s *Shell) carryOut(ctx context.Context, wg *sync.WaitGroup, now time.Time, e pressure.Effect) {
	switch e := e.(type) {
	case pressure.Evict:
		s.evict(now, &e)
	case pressure.Collect:
		s.collect(ctx, wg, e)
	case pressure.Announce:
		if !now.Before(s.unable[e.Signal.Pressure()]) {
			s.nodeEvent(pressure.ReasonThresholdMet, "Attempting to reclaim "+e.Resource)
		}
	case pressure.Unable:
		if until := &s.unable[e.Signal.Pressure()]; !now.Before(*until) {
			s.opts.Log.Info("Unable to evict any pods", "signal", e.Signal.String())
			*until = now.Add(again)
		}
	case pressure.Changed:
		s.agent.Report(s.opts.Node)
	}
}

// hardGrace is the longest grace, in seconds, of which none is given: the pod is
// killed before anybody is told.
const hardGrace = 1

// evict ends a pod: at once and by ourselves if it has no grace, else by the agent.
func (s *Shell) evict(now time.Time, e *pressure.Evict) {
	pod := s.listed(types.UID(e.Pod.UID))
	if pod == nil {
		return // it was gone before
	}
	_, signal := pressure.ParseSignal(e.Cause)
	hard := e.Grace <= hardGrace && signal
	d := dying{by: now.Add(time.Duration(e.Grace) * time.Second)}
	var err error
	if hard {
		d = dying{by: now, cgroup: s.opts.Stats.Cgroup(pod)}
		err = s.opts.Host.Kill(d.cgroup)
		killed := time.Now()
		s.lastKilled = killed
		s.opts.Metrics.reaction.Observe(killed.Sub(s.lastLook).Seconds())
		if s.opts.Killed != nil {
			s.opts.Killed(pod, killed)
		}
	}
	s.mu.Lock()
	s.dying[pod.UID] = d
	s.mu.Unlock()
	s.agent.Evict(Eviction(pod, e, hard, func() { s.over(pod.UID) }))
	if err != nil { // the agent still ends it through the runtime
		s.opts.Log.Error(err, "Evicted pod's cgroup could not be killed", "pod", e.Pod.Namespace+"/"+e.Pod.Name)
	}
	s.opts.Metrics.evictions.WithLabelValues(e.Cause).Inc()
	s.opts.Metrics.statsAge.WithLabelValues(e.Cause).Observe(time.Since(now).Seconds())
	s.opts.Log.Info("Evicted pod", "pod", e.Pod.Namespace+"/"+e.Pod.Name, "cause", e.Cause, "graceSeconds", e.Grace, "message", e.Message)
	Record(s.opts.Events, pod, e)
	s.remeasure(e.Cause)
}

// Eviction is what an agent is asked for; done is called when nothing of the pod runs any more.
func Eviction(pod *corev1.Pod, e *pressure.Evict, now bool, done func()) agent.Eviction {
	out := agent.Eviction{
		Pod: pod.UID, Reason: pressure.ReasonEvicted, Message: e.Message, Now: now,
		Grace: time.Duration(e.Grace) * time.Second, Done: done,
	}
	if e.Condition {
		out.Condition = &corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: pressure.ReasonDisruption,
			Message: e.Message, LastTransitionTime: metav1.Now(),
		}
	}
	return out
}

// over is told when nothing of an evicted pod runs any more.
func (s *Shell) over(uid types.UID) {
	s.mu.Lock()
	delete(s.dying, uid)
	s.mu.Unlock()
	s.watch.wake()
}

// listed is the pod as it was observed last.
func (s *Shell) listed(uid types.UID) *corev1.Pod {
	for _, p := range s.list {
		if p.UID == uid {
			return p
		}
	}
	return nil
}

// Record has an event tell of an eviction; nil: nobody records.
func Record(events record.EventRecorder, pod *corev1.Pod, e *pressure.Evict) {
	if events == nil {
		return
	}
	notes := map[string]string{}
	for _, l := range e.Annotations {
		notes[l.Key] = l.Value
	}
	events.AnnotatedEventf(pod, notes, corev1.EventTypeWarning, pressure.ReasonEvicted, "%s", e.Message)
}

// killAgain kills what has come into the cgroups of pods that were killed: a container
// that was just being started.
func (s *Shell) killAgain(now time.Time) {
	if now.Sub(s.lastKilled) < 200*time.Millisecond {
		return
	}
	s.mu.Lock()
	var paths []string
	for _, d := range s.dying {
		if d.cgroup != "" {
			paths = append(paths, d.cgroup)
		}
	}
	s.mu.Unlock()
	for _, path := range paths {
		s.lastKilled = now
		s.fault("kill", s.opts.Host.Kill(path))
	}
}

// nodeEvent records a warning about the node.
func (s *Shell) nodeEvent(reason, message string) {
	if s.opts.Events == nil {
		return
	}
	node := &corev1.ObjectReference{Kind: "Node", Name: s.opts.Node, UID: types.UID(s.opts.Node)}
	s.opts.Events.Event(node, corev1.EventTypeWarning, reason, message)
}
