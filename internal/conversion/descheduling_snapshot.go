package conversion

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// DeschedulingSnapshot converts a list of objects to a snapshot for descheduling. It skips kinds that
// descheduling does not read.
func (conv *Converter) DeschedulingSnapshot(objects []runtime.Object, now time.Time) *descheduling.Snapshot {
	s := &descheduling.Snapshot{Now: now, Namespaces: map[string]model.Labels{}, Priorities: map[string]int32{}, ClaimStorageClasses: map[string]string{}}
	var nodes []*descheduling.Node
	var pods []*descheduling.Pod
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Node:
			nodes = append(nodes, conv.DeschedulingNode(o))
		case *corev1.Pod:
			pods = append(pods, conv.DeschedulingPod(o))
		case *corev1.Namespace:
			s.Namespaces[o.Name] = model.LabelsOf(o.Labels)
		case *policyv1.PodDisruptionBudget:
			s.Budgets = append(s.Budgets, conv.Budget(o))
		case *schedulingv1.PriorityClass:
			s.Priorities[o.Name] = o.Value
		case *corev1.PersistentVolumeClaim:
			if class := o.Spec.StorageClassName; class != nil {
				s.ClaimStorageClasses[o.Namespace+"/"+o.Name] = *class
			}
		}
	}
	s.SetNodesAndPods(nodes, pods)
	return s
}
