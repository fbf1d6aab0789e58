package executor

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	helper "k8s.io/component-helpers/resource"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/explain"
)

// requireDeferredResize returns a Conflict if the pod no longer waits for a resize that its node has deferred.
// Then no pod may be displaced for it.
func (x *Executor) requireDeferredResize(ctx context.Context, p *model.Pod) scheduling.Outcome {
	current, err := x.o.Client.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return scheduling.Outcome{Result: scheduling.Conflict, Reason: err.Error()}
	case err != nil:
		return outcome(err)
	case string(current.UID) != p.UID || !helper.IsPodResizeDeferred(current):
		return scheduling.Outcome{Result: scheduling.Conflict, Reason: "the resize is no longer deferred"}
	}
	return scheduling.Outcome{}
}

// recordDeferredResize records the event that no pod can be preempted for a resize.
func (x *Executor) recordDeferredResize(e scheduling.ReportDeferredResize) {
	x.o.Events.Record(e.Pod, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", explain.Message(e.Summary))
}
