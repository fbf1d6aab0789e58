package tables

import (
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berthproject/berth/api/v1alpha1"
)

func otherTable(resource schema.GroupResource) (Table, bool) {
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
	case rbacv1.Resource("rolebindings"):
		return newTable(func(b *rbacv1.RoleBinding) []any { return bindingRow(&b.ObjectMeta, b.RoleRef, b.Subjects) }, bindingColumns()...)
	case rbacv1.Resource("clusterrolebindings"):
		return newTable(func(b *rbacv1.ClusterRoleBinding) []any { return bindingRow(&b.ObjectMeta, b.RoleRef, b.Subjects) }, bindingColumns()...)
	case resourcev1.Resource("resourceclaims"):
		return newTable(func(c *resourcev1.ResourceClaim) []any { return []any{c.Name, claimState(c), age(&c.ObjectMeta)} },
			nameColumn(), stringColumn("State", "Allocation state of the claim."), ageColumn())
	case resourcev1.Resource("resourceclaimtemplates"):
		return newTable(func(t *resourcev1.ResourceClaimTemplate) []any { return []any{t.Name, age(&t.ObjectMeta)} }, nameColumn(), ageColumn())
	case resourcev1.Resource("deviceclasses"):
		return newTable(func(c *resourcev1.DeviceClass) []any { return []any{c.Name, age(&c.ObjectMeta)} }, nameColumn(), ageColumn())
	case resourcev1.Resource("resourceslices"):
		return newTable(func(s *resourcev1.ResourceSlice) []any {
			return []any{s.Name, deref(s.Spec.NodeName, ""), s.Spec.Driver, s.Spec.Pool.Name, age(&s.ObjectMeta)}
		}, nameColumn(), stringColumn("Node", "Node of the devices."), stringColumn("Driver", "Driver of the devices."), stringColumn("Pool", "Pool of the devices."), ageColumn())
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

func bindingColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{nameColumn(), stringColumn("Role", "Role that the binding grants."), ageColumn(),
		wide(stringColumn("Users", "Users in the binding.")), wide(stringColumn("Groups", "Groups in the binding.")),
		wide(stringColumn("ServiceAccounts", "Service accounts in the binding."))}
}

func bindingRow(m *metav1.ObjectMeta, ref rbacv1.RoleRef, subjects []rbacv1.Subject) []any {
	var users, groups, accounts []string
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			users = append(users, s.Name)
		case rbacv1.GroupKind:
			groups = append(groups, s.Name)
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		}
	}
	return []any{m.Name, ref.Kind + "/" + ref.Name, age(m), strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", ")}
}

func claimState(c *resourcev1.ResourceClaim) string {
	var states []string
	if c.DeletionTimestamp != nil {
		states = append(states, "deleted")
	}
	switch {
	case c.Status.Allocation != nil:
		states = append(states, "allocated")
	case c.DeletionTimestamp == nil:
		states = append(states, "pending")
	}
	if len(c.Status.ReservedFor) > 0 {
		states = append(states, "reserved")
	}
	return strings.Join(states, ",")
}
