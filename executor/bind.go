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
// For a retried Bind the machine emits a ReportBound effect instead, since only the machine can determine
// whether the first request was granted.
func (x *Executor) bind(ctx context.Context, e scheduling.Bind) scheduling.Outcome {
	out, handled := x.o.Extenders.Bind(ctx, e)
	if !handled {
		out = x.createBinding(ctx, e)
	}
	if out.Result == scheduling.Done && !e.Retry {
		x.recordBound(e)
	}
	return out
}

// recordBound records the Scheduled event of a pod.
func (x *Executor) recordBound(e scheduling.Bind) {
	x.o.Events.Record(e.Pod, corev1.EventTypeNormal, "Scheduled", "Binding",
		"Successfully assigned "+e.Pod.Namespace+"/"+e.Pod.Name+" to "+e.Node)
}

// createBinding posts the Binding. On a conflict it reads the pod: if the pod is on that node already, an earlier
// request succeeded and its response was lost.
func (x *Executor) createBinding(ctx context.Context, e scheduling.Bind) scheduling.Outcome {
	p := e.Pod
	err := x.o.Client.CoreV1().Pods(p.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID)},
		Target:     corev1.ObjectReference{Kind: "Node", Name: e.Node},
	}, metav1.CreateOptions{})
	out := outcome(err)
	if out.Result == scheduling.Conflict {
		current, getErr := x.o.Client.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
		switch {
		case getErr != nil && !apierrors.IsNotFound(getErr):
			out = scheduling.Outcome{Result: scheduling.Unknown, Reason: getErr.Error()}
		case getErr == nil && string(current.UID) == p.UID && current.Spec.NodeName == e.Node:
			out = scheduling.Outcome{Result: scheduling.Done}
		}
	}
	return out
}

// refreshPod reads a pod from the API server.
func (x *Executor) refreshPod(ctx context.Context, e scheduling.RefreshPod) scheduling.Outcome {
	current, err := x.o.Client.CoreV1().Pods(e.Pod.Namespace).Get(ctx, e.Pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return scheduling.Outcome{Result: scheduling.Done}
	}
	out := outcome(err)
	if err == nil {
		out.Pod = x.o.ConvertPod(current)
	}
	return out
}
