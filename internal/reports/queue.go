package reports

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/explain"
)

// ListPendingPods returns the unfinished pods without a node in a namespace, or in all.
func ListPendingPods(ctx context.Context, config *rest.Config, namespace string) (out []*corev1.Pod, err error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName="})
	if err != nil {
		return nil, fmt.Errorf("listing pods without a node: %w", err)
	}
	for i := range list.Items {
		if IsPending(&list.Items[i]) {
			out = append(out, &list.Items[i])
		}
	}
	return out, nil
}

// IsPending reports whether a pod is unfinished and has no node.
func IsPending(p *corev1.Pod) bool {
	return p.Spec.NodeName == "" && p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

// PendingPods describes pending pods in scheduling order.
func PendingPods(pods []*corev1.Pod) []explain.PendingPod {
	list := make([]explain.PendingPod, 0, len(pods))
	for _, p := range pods {
		list = append(list, queueEntry(p))
	}
	explain.SortPendingPods(list)
	return list
}

// queueEntry describes a pending pod from its spec and its PodScheduled condition.
func queueEntry(p *corev1.Pod) explain.PendingPod {
	pending := explain.PendingPod{Pod: p.Namespace + "/" + p.Name, Scheduler: p.Spec.SchedulerName, State: explain.PendingNew,
		Created: p.CreationTimestamp.Time, Since: p.CreationTimestamp.Time, Nominated: p.Status.NominatedNodeName}
	if p.Spec.Priority != nil {
		pending.Priority = *p.Spec.Priority
	}
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse {
			continue
		}
		pending.Message, pending.Since, pending.State = c.Message, c.LastTransitionTime.Time, explain.PendingUnschedulable
		if c.Reason == corev1.PodReasonSchedulerError {
			pending.State = explain.PendingError
		}
	}
	for _, g := range p.Spec.SchedulingGates {
		pending.Gates = append(pending.Gates, g.Name)
	}
	switch {
	case len(pending.Gates) > 0:
		pending.State = explain.PendingGated
	case pending.Nominated != "":
		pending.State = explain.PendingNominated
	}
	return pending
}
