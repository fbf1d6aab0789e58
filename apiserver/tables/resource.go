package tables

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func resourceTable(resource schema.GroupResource) (Table, bool) {
	switch resource {
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
	}
	return Table{}, false
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
