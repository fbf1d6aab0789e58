package podvalidation

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestTermLimitsRejectLongLists(t *testing.T) {
	term := corev1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{}}
	terms := func(n int) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) {
			antiAffinity := &corev1.PodAntiAffinity{}
			for range n {
				antiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(antiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, term)
			}
			s.Affinity = &corev1.Affinity{PodAntiAffinity: antiAffinity}
		}
	}
	values := func(n int) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) {
			r := corev1.NodeSelectorRequirement{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn}
			for i := range n {
				r.Values = append(r.Values, fmt.Sprint("n", i))
			}
			s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{r}}},
			}}}
		}
	}
	tolerations := func(n int) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) {
			s.Tolerations = nil
			for i := range n {
				s.Tolerations = append(s.Tolerations, corev1.Toleration{Key: fmt.Sprint("k", i), Operator: corev1.TolerationOpExists})
			}
		}
	}
	for _, tc := range []struct {
		name   string
		change func(int) func(*corev1.PodSpec)
		limit  int
		path   string
	}{
		{"anti-affinity", terms, 128, "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"},
		{"values of a requirement", values, 4096, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values"},
		{"tolerations", tolerations, 256, "spec.tolerations"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := storedPod(t, "{}")
			tc.change(tc.limit)(&pod.Spec)
			if errs := ValidatePod(pod); len(errs) != 0 {
				t.Errorf("%d entries: got %v, want no error", tc.limit, errs)
			}
			original := pod.DeepCopy()
			path, withinLimit := field.NewPath("template"), &corev1.PodTemplateSpec{Spec: original.Spec}
			tc.change(tc.limit + 1)(&pod.Spec)
			want := fmt.Sprintf("%s: Too many: %d: must have at most %d items", tc.path, tc.limit+1, tc.limit)
			if errs := ValidatePod(pod); len(errs) != 1 || errs[0].Error() != want {
				t.Errorf("got %v, want %q", errs, want)
			}
			if errs := ValidatePodUpdate(pod, pod.DeepCopy()); len(errs) != 0 {
				t.Errorf("update of a pod beyond the limit without a change: got %v, want no error", errs)
			}
			if errs := ValidatePodUpdate(pod, original); len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), want) {
				t.Errorf("update that exceeds the limit: got %v, want %q", errs, want)
			}
			template := &corev1.PodTemplateSpec{Spec: pod.Spec}
			for _, old := range []*corev1.PodTemplateSpec{nil, withinLimit} {
				if errs := ValidateTemplateTermLimits(template, old, path); len(errs) != 1 || errs[0].Error() != "template."+want {
					t.Errorf("template: got %v, want %q", errs, "template."+want)
				}
			}
			if errs := append(ValidateTemplateTermLimits(template, template, path), ValidateTemplateTermLimits(withinLimit, nil, path)...); len(errs) != 0 {
				t.Errorf("template that is unchanged or within the limit: got %v, want no error", errs)
			}
		})
	}
}
