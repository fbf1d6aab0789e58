package eviction

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

// displace sets the condition, records the displacement and deletes the pod. If guarded, the pod
// must not have changed since the budgets were checked.
func (e *eviction) displace(ctx context.Context, pod *corev1.Pod, guarded bool) error {
	opts := e.Options.DeepCopy()
	if e.DryRun {
		return e.store.DeletePod(ctx, e.Name, opts)
	}
	version, err := e.setDisruptionTarget(ctx, pod, guarded)
	if err != nil {
		return err
	}
	m := conversion.BudgetPod(pod)
	if !m.Deleting && !m.Finished() {
		if err := e.store.Record(ctx, e.record(pod, m)); err != nil {
			return retryError{fmt.Errorf("recording the displacement: %w", err)}
		}
	}
	if opts.Preconditions == nil {
		opts.Preconditions = &metav1.Preconditions{}
	}
	opts.Preconditions.UID = &pod.UID
	if guarded || opts.Preconditions.ResourceVersion != nil {
		opts.Preconditions.ResourceVersion = &version // the version after setting the condition
	}
	err = e.store.DeletePod(ctx, e.Name, opts)
	if apierrors.IsConflict(err) {
		return errChanged // if the caller set preconditions, the next attempt reports the conflict
	}
	return err
}

// setDisruptionTarget sets the DisruptionTarget condition and returns the resource version of the
// pod. It keeps a condition that another request set.
func (e *eviction) setDisruptionTarget(ctx context.Context, checked *corev1.Pod, guarded bool) (string, error) {
	var changed bool
	var previous *corev1.PodCondition
	out, err := e.store.UpdatePod(ctx, e.Name, "", func(pod *corev1.Pod) error {
		if err := e.checkPreconditions(pod); err != nil {
			return err
		}
		if pod.UID != checked.UID || guarded && pod.ResourceVersion != checked.ResourceVersion {
			return errChanged
		}
		changed, previous = conversion.SetDisruptionTarget(pod, conversion.NewDisruptionTarget(displacement.API.Reason(), displacement.API.MessagePrefix(), e.store.Now()))
		return nil
	})
	if err != nil {
		return "", err
	}
	e.conditionVersion = out.ResourceVersion
	if c := conversion.ActiveDisruptionTarget(out); changed && c != nil {
		e.condition, e.previousCondition = c.DeepCopy(), previous
	}
	return out.ResourceVersion, nil
}

// record returns the displacement record of the eviction of pod. It sets m.Spec.
func (e *eviction) record(pod *corev1.Pod, m *model.Pod) *displacement.Record {
	m.Spec = &model.PodSpec{SchedulerName: pod.Spec.SchedulerName}
	if pod.Spec.Priority != nil {
		m.Spec.Priority = *pod.Spec.Priority
	}
	rec := &displacement.Record{Cause: displacement.API, Victim: m, Node: pod.Spec.NodeName, Requester: e.RequestedBy, Rule: e.Reason, Grace: e.Options.GracePeriodSeconds}
	for _, d := range e.debits {
		rec.Entries = append(rec.Entries, d.entry)
	}
	switch {
	case m.Phase == model.Pending:
		rec.Rule = joinReasons(e.Reason, "the pod had not started, so no disruption budget was debited")
	case !m.Ready && len(e.debits) == 0:
		rec.Rule = joinReasons(e.Reason, "the pod was not ready, so no disruption budget was debited")
	}
	return rec
}

func joinReasons(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
