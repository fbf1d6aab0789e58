package localnodes

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestAdoptedManifest checks that the agent does not overwrite labels and annotations that the creator changes.
func TestAdoptedManifest(t *testing.T) {
	n := &corev1.Node{}
	n.Name = "n"
	n.Labels = map[string]string{"creator": "x", corev1.LabelArchStable: "arm64", AdoptedKey: "fake"}
	n.Annotations = map[string]string{"creator": "x", "sim.berth.dev/usage": "memory=1Gi"}
	n.Status.NodeInfo.ContainerRuntimeVersion = "x"
	m := adoptedManifest(n)
	if !maps.Equal(m.Labels, map[string]string{corev1.LabelArchStable: "arm64"}) || !maps.Equal(m.Annotations, map[string]string{"sim.berth.dev/usage": "memory=1Gi"}) {
		t.Errorf("got labels %v and annotations %v, want only those that the agent needs", m.Labels, m.Annotations)
	}
	if cpu := m.Status.Capacity[corev1.ResourceCPU]; cpu.String() != "1k" || m.Status.NodeInfo.ContainerRuntimeVersion != "" {
		t.Errorf("got status %+v, want 1k CPU and no runtime version", m.Status)
	}
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	if m := adoptedManifest(n); len(m.Status.Capacity) != 0 || len(m.Status.Allocatable) != 1 {
		t.Errorf("got status %+v, want the allocatable resources of the manifest and no capacity", m.Status)
	}
	for _, adopt := range []func(*corev1.Node){
		func(n *corev1.Node) { n.Labels = map[string]string{AdoptedKey: "fake"} },
		func(n *corev1.Node) { n.Annotations = map[string]string{AdoptedKey: "fake"} },
	} {
		n := &corev1.Node{}
		if isAdoptable(n) {
			t.Error("a node without label and annotation is adoptable")
		}
		if adopt(n); !isAdoptable(n) {
			t.Errorf("a node with labels %v and annotations %v is not adoptable", n.Labels, n.Annotations)
		}
	}
}
