//go:build linux

package nodeagent

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestFieldPath(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "a"}}, Containers: []corev1.Container{{Name: "b"}},
		EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "c"}}}}}
	for name, want := range map[string]string{"": "", "a": "spec.initContainers{a}", "b": "spec.containers{b}", "c": "spec.ephemeralContainers{c}"} {
		if got := fieldPath(pod, name); got != want {
			t.Errorf("field path of container %q: %q, want %q", name, got, want)
		}
	}
}
