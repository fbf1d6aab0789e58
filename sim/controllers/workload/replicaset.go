package workload

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	engineworkload "github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// reconcileReplicaSet reconciles a ReplicaSet.
func (o *controller) reconcileReplicaSet(rs *appsv1.ReplicaSet, done func(time.Duration, error)) {
	var pods []engineworkload.Pod
	var failures []engineworkload.PodFailure
	keys := slices.Sorted(maps.Keys(o.pods[string(rs.UID)]))
	for _, key := range keys {
		p := conversion.WorkloadPod(o.pods[string(rs.UID)][key])
		pods = append(pods, p)
		if f, ok := engineworkload.FailureOf(&p); ok {
			failures = append(failures, f)
		}
	}
	machine := conversion.ReplicaSet(rs)
	plan := machine.Plan(o.w.Now(), pods, engineworkload.CountActiveByNode(pods), o.notBefore(rs, machine.Node, failures))
	for range plan.Create {
		o.create(rs, "ReplicaSet", o.newPod(rs, "ReplicaSet", &rs.Spec.Template))
	}
	for _, i := range plan.Delete {
		o.delete(keys[i], pods[i].UID)
	}
	if metav1.GetControllerOfNoCopy(rs) != nil {
		o.setStatus(rs, &plan.Status)
	}
	done(o.requeueAfter(plan.Wake), nil)
}

// setStatus updates the status of a ReplicaSet, which its Deployment reads.
func (o *controller) setStatus(rs *appsv1.ReplicaSet, s *engineworkload.ReplicaSetStatus) {
	next := appsv1.ReplicaSetStatus{Replicas: s.Replicas, FullyLabeledReplicas: s.FullyLabeled, ReadyReplicas: s.Ready, AvailableReplicas: s.Available,
		TerminatingReplicas: &s.Terminating, ObservedGeneration: s.Observed}
	previous := &rs.Status
	if previous.Replicas == next.Replicas && previous.ReadyReplicas == next.ReadyReplicas && previous.AvailableReplicas == next.AvailableReplicas &&
		previous.ObservedGeneration == next.ObservedGeneration && previous.TerminatingReplicas != nil && *previous.TerminatingReplicas == s.Terminating {
		return
	}
	key := store.KeyOf(rs)
	o.Request("setstatus", key, func() error {
		return o.w.API().Update(store.ReplicaSets, key, store.Precondition{UID: string(rs.UID), ResourceVersion: rs.ResourceVersion}, func(obj store.Object) error {
			if set, ok := obj.(*appsv1.ReplicaSet); ok {
				set.Status = next
			}
			return nil
		})
	}, func(err error) {
		if err != nil {
			o.queue.Add("ReplicaSet "+key, time.Second)
		}
	})
}
