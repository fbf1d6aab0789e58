package apiserver_test

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyv1 "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	"k8s.io/client-go/kubernetes"
)

// TestVersionsShareStoredObject checks that both versions of HorizontalPodAutoscaler are views of one stored
// object. Version v2 is preferred.
func TestVersionsShareStoredObject(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(start(t).LoopbackConfig())
	ctx := t.Context()
	groups, err := client.Discovery().ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups.Groups {
		if g.Name == autoscalingv2.GroupName && (len(g.Versions) != 2 || g.PreferredVersion.Version != "v2") {
			t.Errorf("group %s: got versions %v and preferred version %s, want 2 versions and v2", g.Name, g.Versions, g.PreferredVersion.Version)
		}
	}
	v1, v2 := client.AutoscalingV1().HorizontalPodAutoscalers("default"), client.AutoscalingV2().HorizontalPodAutoscalers("default")
	percent := int32(50)
	created := &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "h"}, Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
		MaxReplicas: 3, TargetCPUUtilizationPercentage: &percent, ScaleTargetRef: autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"},
	}}
	if created, err = v1.Create(ctx, created, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	events, err := v1.Watch(ctx, metav1.ListOptions{ResourceVersion: created.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	stored, err := v2.Get(ctx, "h", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if stored.UID != created.UID || stored.Generation != 1 || *stored.Spec.Metrics[0].Resource.Target.AverageUtilization != 50 {
		t.Errorf("object in v2: %+v, want the same UID, generation 1 and a target of 50 %%", stored)
	}
	stored.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.AbleToScale, Status: "True"}}
	if _, err := v2.UpdateStatus(ctx, stored, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	updated := (<-events.ResultChan()).Object.(*autoscalingv1.HorizontalPodAutoscaler)
	if updated.Annotations["autoscaling.alpha.kubernetes.io/conditions"] == "" || *updated.Spec.TargetCPUUtilizationPercentage != 50 {
		t.Errorf("the watch of v1 received %+v, want the conditions and the target of 50 %%", updated)
	}
	// Apply in version v1 owns fields of version v1 and leaves the status to its subresource.
	applied, err := v1.Apply(ctx, applyv1.HorizontalPodAutoscaler("h", "default").WithSpec(applyv1.HorizontalPodAutoscalerSpec().WithMaxReplicas(7)).
		WithStatus(applyv1.HorizontalPodAutoscalerStatus().WithDesiredReplicas(9)), metav1.ApplyOptions{FieldManager: "test", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if applied.Spec.MaxReplicas != 7 || applied.Status.DesiredReplicas != 0 || applied.Generation != 2 {
		t.Errorf("object after apply: %+v, want 7 maxReplicas, no status and generation 2", applied)
	}
	for _, m := range applied.ManagedFields {
		if m.Manager == "test" && string(m.FieldsV1.GetRawBytes()) != `{"f:spec":{"f:maxReplicas":{}}}` {
			t.Errorf("manager %s owns %s of %s, want f:maxReplicas only", m.Manager, m.FieldsV1.GetRawBytes(), m.APIVersion)
		}
	}
	if err := v1.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if list, err := v2.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Errorf("objects after the deletion: got %v and error %v, want none", list.Items, err)
	}
}
