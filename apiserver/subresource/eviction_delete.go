package subresource

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

// evict sets the condition, records the displacement and deletes the pod. If guarded, the pod must
// not have changed since the budgets were checked.
func (e *EvictionREST) evict(ctx context.Context, r *evictionRequest, pod *corev1.Pod, guarded bool) error {
	opts := r.opts.DeepCopy()
	if r.dryRun {
		_, _, err := e.deleter.Delete(ctx, r.name, rest.ValidateAllObjectFunc, opts)
		return err
	}
	version, err := e.setDisruptionTarget(ctx, r, pod, guarded)
	if err != nil {
		return err
	}
	m := conversion.BudgetPod(pod)
	if !m.Deleting && !m.Finished() {
		if err := e.record(ctx, r.newRecord(pod, m)); err != nil {
			return errRetry
		}
	}
	if opts.Preconditions == nil {
		opts.Preconditions = &metav1.Preconditions{}
	}
	opts.Preconditions.UID = &pod.UID
	if guarded || opts.Preconditions.ResourceVersion != nil {
		opts.Preconditions.ResourceVersion = &version // the version after setting the condition
	}
	_, _, err = e.deleter.Delete(ctx, r.name, rest.ValidateAllObjectFunc, opts)
	if apierrors.IsConflict(err) {
		return errRetry // if the caller set preconditions, the next attempt reports the conflict
	}
	return err
}

// newRecord returns the displacement record of the eviction of pod. It sets m.Spec.
func (r *evictionRequest) newRecord(pod *corev1.Pod, m *model.Pod) *displacement.Record {
	m.Spec = &model.PodSpec{SchedulerName: pod.Spec.SchedulerName}
	if pod.Spec.Priority != nil {
		m.Spec.Priority = *pod.Spec.Priority
	}
	rec := &displacement.Record{Cause: displacement.API, Victim: m, Node: pod.Spec.NodeName, Requester: r.requestedBy, Rule: r.reason, Grace: r.opts.GracePeriodSeconds}
	for _, d := range r.debits {
		rec.Entries = append(rec.Entries, d.entry)
	}
	switch {
	case m.Phase == model.Pending:
		rec.Rule = joinReasons(r.reason, "the pod had not started, so no disruption budget was debited")
	case !m.Ready && len(r.debits) == 0:
		rec.Rule = joinReasons(r.reason, "the pod was not ready, so no disruption budget was debited")
	}
	return rec
}

func joinReasons(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// setDisruptionTarget sets the DisruptionTarget condition and returns the resource version of the
// pod. It keeps a condition that another request set.
func (e *EvictionREST) setDisruptionTarget(ctx context.Context, r *evictionRequest, checked *corev1.Pod, guarded bool) (string, error) {
	key, err := e.pods.KeyFunc(ctx, r.name)
	if err != nil {
		return "", err
	}
	out := &corev1.Pod{}
	var changed bool
	var previous *corev1.PodCondition
	err = e.pods.Storage.GuaranteedUpdate(ctx, key, out, false, nil, storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			return nil, fmt.Errorf("want a Pod at %s, got %T", key, obj)
		}
		if err := r.checkPreconditions(pod); err != nil {
			return nil, err
		}
		if pod.UID != checked.UID || guarded && pod.ResourceVersion != checked.ResourceVersion {
			return nil, errRetry
		}
		changed, previous = conversion.SetDisruptionTarget(pod, conversion.NewDisruptionTarget(displacement.API.Reason(), displacement.API.MessagePrefix(), time.Now()))
		return pod, nil
	}), false, nil)
	if err == nil {
		r.markedVersion = out.ResourceVersion
	}
	if c := conversion.ActiveDisruptionTarget(out); err == nil && changed && c != nil {
		r.condition, r.previousCondition = c.DeepCopy(), previous
	}
	var status apierrors.APIStatus
	if err != nil && !errors.Is(err, errRetry) && !errors.As(err, &status) {
		err = storeerr.InterpretUpdateError(storeerr.InterpretGetError(err, corev1.Resource("pods"), r.name), corev1.Resource("pods"), r.name)
	}
	return out.ResourceVersion, err
}

// checkPreconditions returns a conflict, with the message of a delete, if the pod does not meet the
// preconditions. It ignores the change that an earlier attempt of this request made.
func (r *evictionRequest) checkPreconditions(pod *corev1.Pod) error {
	kind := schema.GroupResource{Resource: "Pod"}
	p := r.opts.Preconditions
	switch {
	case p == nil:
	case p.UID != nil && *p.UID != pod.UID:
		return apierrors.NewConflict(kind, pod.Name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, pod.UID))
	case p.ResourceVersion != nil && *p.ResourceVersion != pod.ResourceVersion && r.markedVersion != pod.ResourceVersion:
		return apierrors.NewConflict(kind, pod.Name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, pod.ResourceVersion))
	}
	return nil
}

const refusedMessage = "Cannot evict pod as it would violate the pod's disruption budget."

// refusalError returns the error for an eviction that a budget does not allow.
func (e *EvictionREST) refusalError(v budget.Verdict) error {
	cause := metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: v.Reason}
	message := refusedMessage
	if e.options.IncludeReason {
		message += " " + strings.TrimSuffix(v.Reason, ".") + "."
	}
	switch v.Result {
	case budget.MultipleBudgets:
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: v.Reason}}
	case budget.Forbidden:
		err := apierrors.NewForbidden(policyv1.Resource("poddisruptionbudgets"), v.Budget.Name, errors.New(v.Reason))
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, cause)
		return err
	}
	err := apierrors.NewTooManyRequests(message, int(v.RetryAfter/time.Second))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, cause)
	return err
}
