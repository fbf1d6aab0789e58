package scheduler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/sim/store"
)

// requestWrites returns the writes of an effect, in order.
func (s *Scheduler) requestWrites(e scheduling.Effect) []write {
	switch e := e.(type) {
	case scheduling.Bind:
		return []write{writeStep(func(r *request) error { return r.bind(e) })}
	case scheduling.ReportUnschedulable:
		return []write{writeStep(func(r *request) error { return r.reportUnschedulable(e) })}
	case scheduling.ReportGated:
		return []write{writeStep(func(r *request) error { return r.reportGated(e) })}
	case scheduling.RefreshPod:
		return []write{writeStep(func(r *request) error {
			r.observedPod = s.w.API().Pod(e.Pod.Key())
			return nil
		})}
	case scheduling.ClearNomination:
		return []write{writeStep(func(r *request) error { return r.nominate("") })}
	case scheduling.BindVolumes:
		return bindVolumesWrites(e)
	}
	return []write{writeStep(func(*request) error {
		return apierrors.NewBadRequest(fmt.Sprintf("unsupported effect type %T", e))
	})}
}

// bind binds the pod; a pod already bound to the node is a success.
func (r *request) bind(e scheduling.Bind) error {
	w := r.s.w
	r.s.binding = true
	err := w.API().Bind(e.Pod.Key(), e.Pod.UID, e.Node)
	r.s.binding = false
	if p := w.API().Pod(e.Pod.Key()); apierrors.IsConflict(err) && p != nil && string(p.UID) == e.Pod.UID && p.Spec.NodeName == e.Node {
		return nil
	}
	if err == nil {
		w.Log("scheduler", "bind", e.Pod.Key(), fmt.Sprintf("%s is bound to %s (attempt %d)", e.Pod.Key(), e.Node, e.Attempt))
	}
	return err
}

func (r *request) reportUnschedulable(e scheduling.ReportUnschedulable) error {
	reason := corev1.PodReasonUnschedulable
	if e.Summary.Outcome == decision.Errored {
		reason = corev1.PodReasonSchedulerError
	}
	text := explain.Message(e.Summary)
	if !e.Retry {
		r.s.w.Notify(Rejected{})
		r.s.w.Log("scheduler", "unschedulable", e.Pod.Key(), e.Pod.Key()+" is unschedulable: "+text)
	}
	return r.writePodScheduled(reason, text)
}

func (r *request) reportGated(e scheduling.ReportGated) error {
	reason, text := corev1.PodReasonUnschedulable, explain.GatedMessage(e.Verdict)
	if e.Verdict.Plugin == decision.SchedulingGates {
		reason = corev1.PodReasonSchedulingGated
	}
	r.s.w.Log("scheduler", "hold", e.Pod.Key(), e.Pod.Key()+" is gated: "+text)
	return r.writePodScheduled(reason, text)
}

// writePodScheduled sets PodScheduled=False, unless PodScheduled is True or already has the reason and the message.
func (r *request) writePodScheduled(reason, message string) error {
	return r.s.w.API().UpdatePod(r.pod.Key(), r.precondition(), func(p *corev1.Pod) error {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && (c.Status == corev1.ConditionTrue || c.Reason == reason && c.Message == message) {
				return store.ErrUnchanged
			}
		}
		p.Status.Conditions = store.WithCondition(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled,
			Status: corev1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(r.s.w.Now())})
		return nil
	})
}
