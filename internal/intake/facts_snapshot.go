package intake

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/rebalance"
)

// DeschedulerSnapshot is a cluster, as a list of objects describes it, as descheduling reads it. Kinds that it does
// not read are passed over.
func (in *Intake) DeschedulerSnapshot(objects []runtime.Object, now time.Time) *rebalance.Snapshot {
	s := &rebalance.Snapshot{Now: now, Namespaces: map[string]model.Labels{}, Priorities: map[string]int32{}, Classes: map[string]string{}}
	var nodes []*rebalance.Node
	var pods []*rebalance.Pod
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Node:
			nodes = append(nodes, in.DeschedulerNode(o))
		case *corev1.Pod:
			pods = append(pods, in.Descheduled(o))
		case *corev1.Namespace:
			s.Namespaces[o.Name] = model.LabelsOf(o.Labels)
		case *policyv1.PodDisruptionBudget:
			s.Budgets = append(s.Budgets, in.Budget(o))
		case *schedulingv1.PriorityClass:
			s.Priorities[o.Name] = o.Value
		case *corev1.PersistentVolumeClaim:
			if class := o.Spec.StorageClassName; class != nil {
				s.Classes[o.Namespace+"/"+o.Name] = *class
			}
		}
	}
	s.Place(nodes, pods)
	return s
}
