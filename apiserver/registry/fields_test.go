package registry

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/berthproject/berth/apiserver/kinds"
)

func deployment(replicas, ready int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "d", Generation: 1},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas},
		Status:     appsv1.DeploymentStatus{ReadyReplicas: ready},
	}
}

func kindOf(t *testing.T, resource string) kinds.Kind {
	t.Helper()
	table := kinds.All()
	i := slices.IndexFunc(table, func(k kinds.Kind) bool { return k.Resource == resource })
	if i < 0 {
		t.Fatalf("got no kind with the resource %s, want one", resource)
	}
	return table[i]
}

func TestUpdateKeepsStatusAndIncrementsGeneration(t *testing.T) {
	s := newStrategy(kindOf(t, "deployments"), runtime.NewScheme(), false)
	old := deployment(1, 1)
	for _, c := range []struct{ replicas, ready, generation int32 }{{1, 5, 1}, {2, 5, 2}} {
		obj := deployment(c.replicas, c.ready)
		s.PrepareForUpdate(t.Context(), obj, old)
		if obj.Status.ReadyReplicas != 1 || obj.Generation != int64(c.generation) {
			t.Errorf("replicas %d: got ready %d, generation %d; want 1 and %d", c.replicas, obj.Status.ReadyReplicas, obj.Generation, c.generation)
		}
	}
	created := deployment(1, 5)
	s.PrepareForCreate(t.Context(), created)
	if created.Status.ReadyReplicas != 0 || created.Generation != 1 {
		t.Errorf("new object: got %d ready replicas, generation %d, want 0 and 1", created.Status.ReadyReplicas, created.Generation)
	}
}

func TestStatusUpdateKeepsSpec(t *testing.T) {
	kind := kindOf(t, "deployments")
	s := updateStrategy{strategy: newStrategy(kind, runtime.NewScheme(), false), update: statusUpdate(kind)}
	obj, old := deployment(7, 5), deployment(1, 1)
	s.PrepareForUpdate(t.Context(), obj, old)
	if *obj.Spec.Replicas != 1 || obj.Status.ReadyReplicas != 5 || obj.Generation != 1 {
		t.Errorf("got replicas %d, ready %d, generation %d, want 1, 5 and 1", *obj.Spec.Replicas, obj.Status.ReadyReplicas, obj.Generation)
	}
	if reset := s.GetResetFields()["apps/v1"]; !reset.Has(fieldpath.MakePathOrDie("spec")) || reset.Has(fieldpath.MakePathOrDie("status")) {
		t.Errorf("got reset fields %v, want spec and not status", reset)
	}
}

func TestContentExcludesMetadataOfKindsWithoutSpec(t *testing.T) {
	if got := contentPaths(&corev1.ConfigMap{}); !slices.Equal(got, []string{"immutable", "data", "binaryData"}) {
		t.Errorf("content of a ConfigMap: got %v, want immutable, data and binaryData", got)
	}
	if !sameContent(&corev1.ConfigMap{Data: map[string]string{}}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}) {
		t.Error("got different content, want metadata ignored and empty data equal to absent data")
	}
}
