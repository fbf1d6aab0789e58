package budgets

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/sim/fakeowners"
	"github.com/berthproject/berth/sim/store"
)

// Lookup returns the workload with a kind and key, and whether it exists.
type Lookup func(store.Kind, string) (store.Object, bool)

// StatusInputs returns the input of a budget's status: its pods and their scales.
func (l *Ledger) StatusInputs(b *policyv1.PodDisruptionBudget, pods []*corev1.Pod, find Lookup) budget.StatusInputs {
	in := budget.StatusInputs{Budget: l.w.Converter().Budget(b), Now: l.w.Now()}
	for _, p := range pods {
		in.Pods = append(in.Pods, l.w.BudgetPod(p))
	}
	in.Scale = func(o model.Owner) budget.Scale {
		if strings.HasPrefix(o.UID, fakeowners.UIDPrefix) {
			selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
			if err != nil {
				return budget.Scale{Fault: err.Error()}
			}
			return budget.Scale{UID: o.UID, Replicas: l.owners.DesiredCount(o.UID, selector)}
		}
		return scaleOf(b.Namespace, o, find)
	}
	return in
}

// scaleOf returns the desired replicas of a pod's controller, or of the controller's owner.
func scaleOf(namespace string, o model.Owner, find Lookup) budget.Scale {
	kind, hasScale := map[string]store.Kind{"ReplicaSet": store.ReplicaSets, "StatefulSet": store.StatefulSets, "ReplicationController": store.ReplicationControllers,
		"Deployment": store.Deployments}[o.Kind]
	if !hasScale {
		return budget.Scale{Fault: o.Kind + " has no scale"}
	}
	workload, ok := find(kind, store.Key(namespace, o.Name))
	if !ok || string(workload.GetUID()) != o.UID {
		return budget.Scale{Fault: "found no controller"}
	}
	if owner := metav1.GetControllerOfNoCopy(workload); owner != nil {
		return scaleOf(namespace, model.Owner{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: string(owner.UID)}, find)
	}
	replicas := int32(1)
	var n *int32
	switch workload := workload.(type) {
	case *appsv1.ReplicaSet:
		n = workload.Spec.Replicas
	case *appsv1.Deployment:
		n = workload.Spec.Replicas
	case *appsv1.StatefulSet:
		n = workload.Spec.Replicas
	case *corev1.ReplicationController:
		n = workload.Spec.Replicas
	}
	if n != nil {
		replicas = *n
	}
	return budget.Scale{UID: o.UID, Replicas: replicas}
}
