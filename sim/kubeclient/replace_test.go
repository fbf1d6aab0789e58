package kubeclient

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim/store"
)

func TestMergePatchChangesMetadataOnly(t *testing.T) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", OwnerReferences: []metav1.OwnerReference{{Name: "x", UID: "1"}, {Name: "y", UID: "2"}}},
		Spec: corev1.PodSpec{NodeSelector: map[string]string{}}}
	patched, err := mergePatch(p, []byte(`{"metadata":{"uid":"u","ownerReferences":[{"$patch":"delete","uid":"1"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	owners, next := patched.GetOwnerReferences(), patched.(*corev1.Pod)
	if len(owners) != 1 || owners[0].Name != "y" || len(p.OwnerReferences) != 2 || next.Spec.NodeSelector == nil {
		t.Errorf("patched %+v, want only the owner y and a node selector; the original is now %+v, want both owners", patched, p)
	}
	if _, err := mergePatch(p, []byte(`{"spec":{"nodeName":"n"}}`)); err == nil {
		t.Error("mergePatch of the spec returned no error")
	}
}

func TestReplaceSpecCountsGenerations(t *testing.T) {
	one, two := int32(1), int32(2)
	stored := func() *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 3, ResourceVersion: "7"}, Spec: appsv1.ReplicaSetSpec{Replicas: &one}, Status: appsv1.ReplicaSetStatus{Replicas: 1}}
	}
	scaled, annotated, unchanged := stored(), stored(), stored()
	scaled.Spec.Replicas, annotated.Annotations, unchanged.Status.Replicas = &two, map[string]string{"a": "b"}, 9
	for _, tc := range []struct {
		update     *appsv1.ReplicaSet
		generation int64
		err        error
	}{{scaled, 4, nil}, {annotated, 3, nil}, {unchanged, 3, store.ErrUnchanged}} {
		o := stored()
		if err := replaceSpec(o, tc.update); !errors.Is(err, tc.err) || o.Generation != tc.generation || o.Status.Replicas != 1 {
			t.Errorf("updated to %+v, %v; want generation %d, %v", o, err, tc.generation, tc.err)
		}
	}
}
