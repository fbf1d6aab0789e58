package replicaset

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/controllers/runner"
	workloadcontroller "github.com/berthproject/berth/controllers/workload"
)

// kindAdapter presents a kind as a ReplicaSet.
type kindAdapter struct {
	kind     schema.GroupVersionKind
	informer cache.SharedIndexInformer
	// toReplicaSet converts an object. It returns nil for other kinds. The object is not modified.
	toReplicaSet func(obj any) *appsv1.ReplicaSet
	getLive      func(ctx context.Context, namespace, name string) (metav1.Object, error)
	// updateStatus updates the status of an object.
	updateStatus func(ctx context.Context, obj workloadcontroller.Object, status appsv1.ReplicaSetStatus) error
}

// replicaSets is the adapter of ReplicaSets.
func replicaSets(p *runner.Process) kindAdapter {
	return kindAdapter{
		kind: Kind, informer: p.Informers.Apps().V1().ReplicaSets().Informer(),
		toReplicaSet: func(obj any) *appsv1.ReplicaSet {
			rs, _ := obj.(*appsv1.ReplicaSet)
			return rs
		},
		getLive: func(ctx context.Context, namespace, name string) (metav1.Object, error) {
			return p.Client.AppsV1().ReplicaSets(namespace).Get(ctx, name, metav1.GetOptions{})
		},
		updateStatus: func(ctx context.Context, obj workloadcontroller.Object, status appsv1.ReplicaSetStatus) error {
			rs := obj.DeepCopyObject().(*appsv1.ReplicaSet)
			rs.Status = status
			_, err := p.Client.AppsV1().ReplicaSets(rs.Namespace).UpdateStatus(ctx, rs, metav1.UpdateOptions{})
			return err
		},
	}
}

// replicationControllers is the adapter of ReplicationControllers, which have map selectors only.
func replicationControllers(p *runner.Process) kindAdapter {
	return kindAdapter{
		kind: ControllerKind, informer: p.Informers.Core().V1().ReplicationControllers().Informer(),
		toReplicaSet: func(obj any) *appsv1.ReplicaSet {
			if rc, ok := obj.(*corev1.ReplicationController); ok {
				return asReplicaSet(rc)
			}
			return nil
		},
		getLive: func(ctx context.Context, namespace, name string) (metav1.Object, error) {
			return p.Client.CoreV1().ReplicationControllers(namespace).Get(ctx, name, metav1.GetOptions{})
		},
		updateStatus: func(ctx context.Context, obj workloadcontroller.Object, status appsv1.ReplicaSetStatus) error {
			rc := obj.DeepCopyObject().(*corev1.ReplicationController)
			rc.Status = controllerStatus(status)
			_, err := p.Client.CoreV1().ReplicationControllers(rc.Namespace).UpdateStatus(ctx, rc, metav1.UpdateOptions{})
			return err
		},
	}
}

func asReplicaSet(rc *corev1.ReplicationController) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: rc.ObjectMeta}
	rs.Spec = appsv1.ReplicaSetSpec{Replicas: rc.Spec.Replicas, MinReadySeconds: rc.Spec.MinReadySeconds}
	if len(rc.Spec.Selector) > 0 { // an empty selector selects nothing
		rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}
	}
	if rc.Spec.Template != nil {
		rs.Spec.Template = *rc.Spec.Template
	}
	s := &rc.Status
	rs.Status = appsv1.ReplicaSetStatus{
		Replicas: s.Replicas, FullyLabeledReplicas: s.FullyLabeledReplicas, ReadyReplicas: s.ReadyReplicas, AvailableReplicas: s.AvailableReplicas, ObservedGeneration: s.ObservedGeneration,
	}
	for _, c := range s.Conditions {
		rs.Status.Conditions = append(rs.Status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetConditionType(c.Type), Status: c.Status, Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime,
		})
	}
	return rs
}

// controllerStatus converts a status. ReplicationControllers do not count terminating pods.
func controllerStatus(s appsv1.ReplicaSetStatus) corev1.ReplicationControllerStatus {
	out := corev1.ReplicationControllerStatus{
		Replicas: s.Replicas, FullyLabeledReplicas: s.FullyLabeledReplicas, ReadyReplicas: s.ReadyReplicas, AvailableReplicas: s.AvailableReplicas, ObservedGeneration: s.ObservedGeneration,
	}
	for _, c := range s.Conditions {
		out.Conditions = append(out.Conditions, corev1.ReplicationControllerCondition{
			Type: corev1.ReplicationControllerConditionType(c.Type), Status: c.Status, Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime,
		})
	}
	return out
}
