package tables

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berthproject/berth/api/v1alpha1"
)

func policyTable(resource schema.GroupResource) (Table, bool) {
	switch resource {
	case v1alpha1.GroupVersion.WithResource(v1alpha1.HoldsResource).GroupResource():
		return newTable(holdRow, holdColumns()...)
	case schedulingv1.Resource("priorityclasses"):
		return newTable(func(pc *schedulingv1.PriorityClass) []any {
			return []any{pc.Name, int64(pc.Value), pc.GlobalDefault, age(&pc.ObjectMeta), string(deref(pc.PreemptionPolicy, ""))}
		}, nameColumn(), integerColumn("Value", "Priority of pods of the class."), booleanColumn("Global-Default", "Whether this is the class of pods without a class."),
			ageColumn(), stringColumn("PreemptionPolicy", "Whether pods of the class preempt other pods."))
	case policyv1.Resource("poddisruptionbudgets"):
		return newTable(budgetRow, nameColumn(), stringColumn("Min Available", "Minimum number of available pods."), stringColumn("Max Unavailable", "Maximum number of unavailable pods."),
			integerColumn("Allowed Disruptions", "Number of pods that may be evicted now."), ageColumn())
	case coordinationv1.Resource("leases"):
		return newTable(func(l *coordinationv1.Lease) []any {
			return []any{l.Name, deref(l.Spec.HolderIdentity, ""), age(&l.ObjectMeta)}
		},
			nameColumn(), stringColumn("Holder", "Holder of the lease."), ageColumn())
	case nodev1.Resource("runtimeclasses"):
		return newTable(func(rc *nodev1.RuntimeClass) []any { return []any{rc.Name, rc.Handler, age(&rc.ObjectMeta)} },
			nameColumn(), stringColumn("Handler", "Handler of the container runtime."), ageColumn())
	case autoscalingv1.Resource("scales"):
		return newTable(func(s *autoscalingv1.Scale) []any {
			return []any{s.Name, int64(s.Spec.Replicas), int64(s.Status.Replicas), age(&s.ObjectMeta)}
		}, nameColumn(), integerColumn("Desired", "Desired number of replicas."), integerColumn("Available", "Current number of replicas."), ageColumn())
	}
	return Table{}, false
}

func budgetRow(b *policyv1.PodDisruptionBudget) []any {
	limit := func(value *intstr.IntOrString) string {
		if value == nil {
			return "N/A"
		}
		return value.String()
	}
	return []any{b.Name, limit(b.Spec.MinAvailable), limit(b.Spec.MaxUnavailable), int64(b.Status.DisruptionsAllowed), age(&b.ObjectMeta)}
}
