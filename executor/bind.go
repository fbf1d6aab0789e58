package executor

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/scheduling"
)

// bind creates the Binding, through an extender that binds if one is interested, and records the Scheduled event.
// For a repeated Bind the machine emits a Bound effect instead, since only the machine can determine whether the first
// request was granted.
func (a *Executor) bind(ctx context.Context, e scheduling.Bind) scheduling.Outcome {
	out, handled := a.o.Extenders.Bind(ctx, e)
	if !handled {
		out = a.createBinding(ctx, e)
	}
	if out.Result == scheduling.Done && !e.Retry {
		a.recordBound(e)
	}
	return out
}

// recordBound records the Scheduled event of a pod.
func (a *Executor) recordBound(e scheduling.Bind) {
	a.o.Events.Record(e.Pod, corev1.EventTypeNormal, "Scheduled", "Binding",
		"Successfully assigned "+e.Pod.Namespace+"/"+e.Pod.Name+" to "+e.Node)
}

// createBinding posts the Binding. On a conflict it reads the pod: if the pod is on that node already, an earlier
// request succeeded and its response was lost.
func (a *Executor) createBinding(ctx context.Context, e scheduling.Bind) scheduling.Outcome {
	p := e.Pod
	err := a.o.Client.CoreV1().Pods(p.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID)},
		Target:     corev1.ObjectReference{Kind: "Node", Name: e.Node},
	}, metav1.CreateOptions{})
	out := outcome(err)
	if out.Result == scheduling.Conflict {
		found, cause := a.o.Client.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
		switch {
		case cause != nil && !apierrors.IsNotFound(cause):
			out = scheduling.Outcome{Result: scheduling.Unknown, Reason: cause.Error()}
		case cause == nil && string(found.UID) == p.UID && found.Spec.NodeName == e.Node:
			out = scheduling.Outcome{Result: scheduling.Done}
		}
	}
	return out
}

// refreshPod reads a pod from the API server.
func (a *Executor) refreshPod(ctx context.Context, e scheduling.RefreshPod) scheduling.Outcome {
	found, err := a.o.Client.CoreV1().Pods(e.Pod.Namespace).Get(ctx, e.Pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return scheduling.Outcome{Result: scheduling.Done}
	}
	out := outcome(err)
	if err == nil {
		out.Pod = a.o.ConvertPod(found)
	}
	return out
}
