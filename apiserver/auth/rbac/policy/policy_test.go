package policy

import "testing"

func TestBindingsReferToExistingRoles(t *testing.T) {
	roles := map[string]bool{}
	for _, r := range ClusterRoles() {
		if roles[r.Name] {
			t.Errorf("the role %s exists twice", r.Name)
		}
		roles[r.Name] = true
	}
	for _, b := range ClusterRoleBindings() {
		if !roles[b.RoleRef.Name] {
			t.Errorf("%s binds the role %s, which does not exist", b.Name, b.RoleRef.Name)
		}
	}
}

// The autoscaler's service account reads the metrics of other API servers.
func TestAutoscalerReadsMetrics(t *testing.T) {
	granted := map[string]bool{}
	for _, rule := range controllerRules()["horizontal-pod-autoscaler"] {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					granted[verb+" "+group+" "+resource] = true
				}
			}
		}
	}
	for _, want := range []string{"get custom.metrics.k8s.io *", "list custom.metrics.k8s.io *", "get external.metrics.k8s.io *", "list external.metrics.k8s.io *"} {
		if !granted[want] {
			t.Errorf("missing permission: %s", want)
		}
	}
}
