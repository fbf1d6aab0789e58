package fairness

import (
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/client-go/kubernetes/fake"
)

func TestBootstrapKeepsChangesOfUsers(t *testing.T) {
	changed := func(name, update string, generation int64) *flowcontrolv1.FlowSchema {
		f := &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: generation}}
		f.Spec.MatchingPrecedence = 7
		if update != "" {
			f.Annotations = map[string]string{flowcontrolv1.AutoUpdateAnnotationKey: update}
		}
		return f
	}
	client := fake.NewClientset(changed("exempt", "false", 2), changed("probes", "false", 2), changed("system-nodes", "true", 2), changed("service-accounts", "", 1),
		changed("global-default", "", 2), changed("obsolete", "true", 1), changed("users", "", 1))
	for range 2 {
		if err := Bootstrap(t.Context(), client); err != nil {
			t.Fatal(err)
		}
	}
	list, err := client.FlowcontrolV1().FlowSchemas().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{} // by name, whether the user's change is kept
	for _, f := range list.Items {
		got[f.Name] = f.Spec.MatchingPrecedence == 7
	}
	for name, want := range map[string]bool{"exempt": false, "probes": true, "system-nodes": false, "service-accounts": false, "global-default": true, "users": true, "berth-node-high": false} {
		if unchanged, ok := got[name]; !ok || unchanged != want {
			t.Errorf("%s: got exists: %t, change of the user: %t; want exists: true, change of the user: %t", name, ok, unchanged, want)
		}
	}
	if _, ok := got["obsolete"]; ok {
		t.Error("got a schema of an earlier release, want it deleted")
	}
	if want := len(bootstrap.MandatoryFlowSchemas) + len(bootstrap.SuggestedFlowSchemas) + len(berthFlowSchemas()) + 1; len(got) != want {
		t.Errorf("got %d schemas, want %d", len(got), want)
	}
	levels, err := client.FlowcontrolV1().PriorityLevelConfigurations().List(t.Context(), metav1.ListOptions{})
	if want := len(bootstrap.MandatoryPriorityLevelConfigurations) + len(bootstrap.SuggestedPriorityLevelConfigurations); err != nil || len(levels.Items) != want {
		t.Errorf("got %d priority levels, %v, want %d", len(levels.Items), err, want)
	}
}
