package agent

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim/store"
)

// rejection is why a node rejects a pod: reason and message of the pod's status, and the cause in the timeline.
type rejection struct{ reason, message, cause string }

// rejectionOf returns why a node's agent rejects a pod, or nil. Nodes with scripted usage use
// their pressure machine. Other nodes use the reported conditions, and accept pods with requests
// under memory pressure. A pod must also pass the admission check.
func (a *Agents) rejectionOf(p *corev1.Pod) *rejection {
	o, _ := a.w.API().Get(store.Nodes, p.Spec.NodeName)
	n, ok := o.(*corev1.Node)
	if !ok || p.Status.Phase != corev1.PodPending || p.Status.StartTime != nil {
		return nil
	}
	if s := a.nodePressures.nodes[n.Name]; s != nil {
		if r := s.rejectionOf(p); r != nil {
			return r
		}
		return a.admission.check(p, n)
	}
	conditionType := store.PressureCondition(n)
	if conditionType == "" || conditionType == corev1.NodeMemoryPressure && len(p.Spec.Containers) > 0 && len(p.Spec.Containers[0].Resources.Requests) > 0 {
		return a.admission.check(p, n)
	}
	return &rejection{"Evicted", fmt.Sprintf("The node had condition: [%s]. ", conditionType), string(conditionType)}
}

// rejectPod fails a rejected pod as a kubelet does.
func (a *Agents) rejectPod(p *corev1.Pod, r *rejection) {
	key := store.KeyOf(p)
	a.w.After(a.w.Latency(), func() {
		err := a.w.API().UpdatePod(key, store.Precondition{UID: string(p.UID)}, func(o *corev1.Pod) error {
			if store.Finished(o) {
				return store.ErrUnchanged
			}
			o.Status.Phase, o.Status.Reason = corev1.PodFailed, r.reason
			o.Status.Message = "Pod was rejected: " + r.message
			now := metav1.NewTime(a.w.Now())
			o.Status.StartTime = &now
			return nil
		})
		if err == nil {
			a.w.Notify(Rejected{})
			a.w.Log("agent", "reject", key, fmt.Sprintf("%s is rejected by %s, which has %s", key, p.Spec.NodeName, r.cause))
		}
	})
}
