package kubeclient

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim/store"
)

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
	slice, next := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Generation: 1}}, &discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{}}}
	if err := replaceSpec(slice, next); err != nil || slice.Generation != 2 || len(slice.Endpoints) != 1 {
		t.Errorf("updated to %+v, %v; want an endpoint and generation 2", slice, err)
	}
}
