package podvalidation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/randfill"

	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/podvalidation/podstrategy"
	"github.com/berthproject/berth/apiserver/podvalidation/podwarnings"
)

// TestValidationIsDeterministicForRandomPods checks that validation of random values does not panic, is
// deterministic and does not modify the pod.
func TestValidationIsDeterministicForRandomPods(t *testing.T) {
	fill := randfill.NewWithSeed(7).NilChance(.4).NumElements(0, 3).MaxDepth(14)
	for range 300 {
		var newPod, oldPod corev1.Pod
		fill.Fill(&newPod)
		fill.Fill(&oldPod)
		poddefaults.DefaultPod(&newPod)
		poddefaults.DefaultPod(&oldPod)
		original := newPod.DeepCopy()
		first, second := validateAll(t, &newPod, &oldPod), validateAll(t, &newPod, &oldPod)
		if !equality.Semantic.DeepEqual(original, &newPod) {
			t.Fatal("got a modified pod, want no changes by validation")
		}
		if len(first) != len(second) {
			t.Fatalf("got %d errors from the second validation, want %d as from the first", len(second), len(first))
		}
		for i := range first {
			if first[i].Field != second[i].Field || first[i].Type != second[i].Type {
				t.Errorf("error %d: got %v from the second validation, want %v as from the first", i, second[i], first[i])
			}
		}
		for _, prepare := range []func(newPod, oldPod *corev1.Pod){
			podstrategy.PrepareForUpdate, podstrategy.PrepareForStatusUpdate, podstrategy.PrepareForEphemeralContainersUpdate, podstrategy.PrepareForResize,
		} {
			prepare(newPod.DeepCopy(), &oldPod)
		}
		podstrategy.PrepareForCreate(&newPod)
	}
}

func validateAll(t *testing.T, newPod, oldPod *corev1.Pod) field.ErrorList {
	podwarnings.PodWarnings(t.Context(), newPod, nil)
	errs := ValidatePod(newPod)
	errs = append(errs, ValidatePodUpdate(newPod, oldPod)...)
	errs = append(errs, ValidatePodUpdate(newPod, newPod)...)
	errs = append(errs, ValidatePodStatusUpdate(newPod, oldPod)...)
	errs = append(errs, ValidatePodEphemeralContainersUpdate(newPod, oldPod)...)
	errs = append(errs, ValidatePodResize(newPod, newPod)...)
	template := &corev1.PodTemplateSpec{ObjectMeta: newPod.ObjectMeta, Spec: newPod.Spec}
	podwarnings.PodTemplateWarnings(t.Context(), field.NewPath("template"), template, nil)
	return append(errs, ValidatePodTemplateSpec(template, field.NewPath("template"))...)
}

func BenchmarkCreatePod(b *testing.B) {
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace = "p", "ns"
	pod.Labels = map[string]string{"app": "a"}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "app:1"}}
	b.ReportAllocs()
	for b.Loop() {
		p := pod.DeepCopy()
		poddefaults.DefaultPod(p)
		podstrategy.PrepareForCreate(p)
		if errs := ValidatePod(p); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
