package agent

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// EvictForPressure makes a node evict a pod for memory, ephemeral-storage or pids. It does not
// change the node's conditions. It reports whether the pod was evicted.
func (a *Agents) EvictForPressure(key, resource string) bool {
	p := a.w.API().Pod(key)
	if p == nil || p.Spec.NodeName == "" || store.Finished(p) || a.IsSilent(p.Spec.NodeName) {
		return false
	}
	a.containers.removePod(p)
	delete(a.pods, p.UID)
	text := fmt.Sprintf("The node was low on resource: %s. ", resource)
	err := a.w.API().UpdatePod(key, store.Precondition{UID: string(p.UID)}, func(o *corev1.Pod) error {
		o.Status.Phase, o.Status.Reason, o.Status.Message = corev1.PodFailed, "Evicted", text
		o.Status.Conditions = store.WithCondition(o.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(a.w.Now())})
		o.Status.Conditions = store.WithCondition(o.Status.Conditions, conversion.NewDisruptionTarget(corev1.PodReasonTerminationByKubelet, text, a.w.Now()))
		o.Status.ContainerStatuses = slices.Clone(o.Status.ContainerStatuses)
		for i := range o.Status.ContainerStatuses {
			c := &o.Status.ContainerStatuses[i]
			c.Ready, c.State = false, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: codeKill, FinishedAt: metav1.NewTime(a.w.Now())}}
		}
		return nil
	})
	if err != nil {
		return false
	}
	a.w.Log("agent", "evict", key, fmt.Sprintf("%s is evicted by %s, which is low on %s", key, p.Spec.NodeName, resource))
	current := a.w.API().Pod(key)
	a.w.Notify(Evicted{Pod: current, HasCondition: current != nil})
	return true
}
