package sim

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

// writes are what an effect comes to, in order.
func (s *scheduler) writes(e scheduling.Effect) []write {
	switch e := e.(type) {
	case scheduling.Bind:
		return []write{attempt(func(r *request) error { return r.bind(e) })}
	case scheduling.Reject:
		return []write{attempt(func(r *request) error { return r.reject(e) })}
	case scheduling.Hold:
		return []write{attempt(func(r *request) error { return r.hold(e) })}
	case scheduling.Look:
		return []write{attempt(func(r *request) error {
			r.seen = s.w.api.Pod(e.Pod.Key())
			return nil
		})}
	case scheduling.Preempt:
		return preempt(e)
	case scheduling.Unnominate:
		return []write{attempt(func(r *request) error { return r.nominate("") })}
	case scheduling.Prepare:
		return prepare(e)
	}
	return []write{attempt(func(*request) error {
		return apierrors.NewBadRequest(fmt.Sprintf("the simulation does not carry out effects of type %T", e))
	})}
}

// bind binds. The pod being there already is a success.
func (r *request) bind(e scheduling.Bind) error {
	w := r.s.w
	w.audit.binder = r
	err := w.api.Bind(e.Pod.Key(), e.Pod.UID, e.Node)
	w.audit.binder = nil
	if p := w.api.Pod(e.Pod.Key()); apierrors.IsConflict(err) && p != nil && string(p.UID) == e.Pod.UID && p.Spec.NodeName == e.Node {
		return nil
	}
	if err == nil {
		w.tell("scheduler", "bind", e.Pod.Key(), fmt.Sprintf("%s is bound to %s (attempt %d)", e.Pod.Key(), e.Node, e.Attempt))
	}
	return err
}

func (r *request) reject(e scheduling.Reject) error {
	reason := corev1.PodReasonUnschedulable
	if e.Summary.Outcome == decision.Errored {
		reason = corev1.PodReasonSchedulerError
	}
	text := explain.Message(e.Summary)
	if !e.Again {
		r.s.w.counts.Rejections++
		r.s.w.tell("scheduler", "reject", e.Pod.Key(), e.Pod.Key()+" waits: "+text)
	}
	return r.condition(reason, text)
}

func (r *request) hold(e scheduling.Hold) error {
	reason, text := corev1.PodReasonUnschedulable, explain.Held(e.Verdict)
	if e.Verdict.Rule == decision.SchedulingGates {
		reason = corev1.PodReasonSchedulingGated
	}
	r.s.w.tell("scheduler", "hold", e.Pod.Key(), e.Pod.Key()+" is held: "+text)
	return r.condition(reason, text)
}

// condition writes PodScheduled=False unless it says so already.
func (r *request) condition(reason, message string) error {
	return r.s.w.api.ChangePod(r.pod.Key(), r.pre(), func(p *corev1.Pod) error {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && (c.Status == corev1.ConditionTrue || c.Reason == reason && c.Message == message) {
				return store.ErrNothing
			}
		}
		p.Status.Conditions = store.WithCondition(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled,
			Status: corev1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(r.s.w.now)})
		return nil
	})
}
