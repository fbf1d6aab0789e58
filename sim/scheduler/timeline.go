package scheduler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/sim/store"
)

// logReport logs an effect that reports why a pod is not scheduled. It is logged even if the API has the report already.
func (s *Scheduler) logReport(e scheduling.Effect) {
	action, text := "", ""
	switch e := e.(type) {
	case scheduling.ReportUnschedulable:
		if !e.Retry {
			action, text = "unschedulable", e.Pod.Key()+" is unschedulable: "+explain.Message(e.Summary)
		}
	case scheduling.ReportGated:
		action, text = "hold", e.Pod.Key()+" is gated: "+explain.GatedMessage(e.Verdict)
	case scheduling.ReportDeferredResize:
		action, text = "deferredresize", "no pod is preempted for the resize of "+e.Pod.Key()+": "+explain.Message(e.Summary)
	}
	if action != "" {
		s.w.After(s.w.Latency(), func() { s.w.Log("scheduler", action, executor.PodOf(e).Key(), text) })
	}
}

// logChange logs what a request of an effect has changed.
func (s *Scheduler) logChange(e scheduling.Effect, before, after store.Object) {
	pod := executor.PodOf(e).Key()
	log := func(action, object, format string, values ...any) {
		s.w.Log("scheduler", action, object, fmt.Sprintf(format, values...))
	}
	switch old := before.(type) {
	case *corev1.Pod:
		s.logPod(e, old, after)
	case *corev1.PersistentVolume:
		if v, ok := after.(*corev1.PersistentVolume); ok && old.Spec.ClaimRef == nil && v.Spec.ClaimRef != nil {
			log("prepare", pod, "claim %s/%s of %s is bound to volume %s", v.Spec.ClaimRef.Namespace, v.Spec.ClaimRef.Name, pod, v.Name)
		}
	case *corev1.PersistentVolumeClaim:
		if b, ok := e.(scheduling.BindVolumes); ok {
			log("prepare", pod, "claim %s of %s is bound to a new volume on %s", store.KeyOf(old), pod, b.Node)
		}
	}
}

// logPod logs a change of a pod. after is nil if the pod is deleted.
func (s *Scheduler) logPod(e scheduling.Effect, old *corev1.Pod, after store.Object) {
	key := store.KeyOf(old)
	p, exists := after.(*corev1.Pod)
	switch e := e.(type) {
	case scheduling.Bind:
		s.w.Log("scheduler", "bind", key, fmt.Sprintf("%s is bound to %s (attempt %d)", key, e.Node, e.Attempt))
	case scheduling.ClearNomination:
		s.w.Log("scheduler", "clearnomination", key, key+" is no longer nominated")
	case scheduling.Preempt:
		if !exists || old.DeletionTimestamp == nil && p.DeletionTimestamp != nil {
			s.w.Log("scheduler", "preempt", key, fmt.Sprintf("%s on %s is preempted by %s", key, old.Spec.NodeName, e.Pod.Key()))
		}
	}
}
