package store

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaultGrace is the default grace period in seconds.
const defaultGrace = 30

// UpdatePod is Update for a pod.
func (s *Store) UpdatePod(key string, pre Precondition, f func(*corev1.Pod) error) error {
	return s.Update(Pods, key, pre, func(o Object) error {
		p, ok := o.(*corev1.Pod)
		if !ok {
			return fmt.Errorf("object %s of type %T: must be a Pod", key, o)
		}
		return f(p)
	})
}

// Bind binds a pod to a node, once. An empty uid matches any pod.
func (s *Store) Bind(key, uid, node string) error {
	return s.UpdatePod(key, Precondition{UID: uid}, func(p *corev1.Pod) error {
		reason := ""
		switch {
		case p.DeletionTimestamp != nil:
			reason = "pod " + p.Name + " is being deleted, cannot be assigned to a host"
		case p.Spec.NodeName != "":
			reason = "pod " + p.Name + " is already assigned to node \"" + p.Spec.NodeName + "\""
		case len(p.Spec.SchedulingGates) > 0:
			reason = "pod " + p.Name + " has non-empty .spec.schedulingGates"
		}
		if reason != "" {
			return apierrors.NewConflict(groupResource(Pods), p.Name, errors.New(reason))
		}
		p.Spec.NodeName = node
		p.Status.Conditions = WithCondition(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.now())})
		return nil
	})
}

// DeletePod deletes a pod with a grace period; nil means the pod's own. An unscheduled or
// finished pod is deleted at once. A second call can only shorten the grace period.
func (s *Store) DeletePod(key string, pre Precondition, grace *int64) error {
	return s.UpdatePod(key, pre, func(p *corev1.Pod) error {
		seconds := int64(defaultGrace)
		switch {
		case p.Spec.NodeName == "" || Finished(p):
			seconds = 0
		case grace != nil:
			seconds = *grace
		case p.Spec.TerminationGracePeriodSeconds != nil:
			seconds = *p.Spec.TerminationGracePeriodSeconds
		}
		if p.DeletionTimestamp != nil && p.DeletionGracePeriodSeconds != nil && seconds >= *p.DeletionGracePeriodSeconds {
			return ErrUnchanged
		}
		at := metav1.NewTime(s.now().Add(time.Duration(seconds) * time.Second))
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &seconds
		return nil
	})
}

// Finished reports whether an object is a pod that has succeeded or failed.
func Finished(o Object) bool {
	p, ok := o.(*corev1.Pod)
	return ok && (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed)
}
