package core

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestQuotaScopes(t *testing.T) {
	one := resource.MustParse("1")
	for name, tc := range map[string]struct {
		hard     corev1.ResourceName
		scope    corev1.ResourceQuotaScope
		selector *corev1.ScopedResourceSelectorRequirement
		want     string // empty: valid
	}{
		"pods":              {hard: "pods", scope: corev1.ResourceQuotaScopeBestEffort},
		"CPU, best effort":  {hard: "cpu", scope: corev1.ResourceQuotaScopeBestEffort, want: "unsupported scope applied to resource"},
		"CPU, terminating":  {hard: "cpu", scope: corev1.ResourceQuotaScopeTerminating},
		"secrets":           {hard: "secrets", scope: corev1.ResourceQuotaScopeTerminating, want: "unsupported scope applied to resource"},
		"claims":            {hard: "persistentvolumeclaims", scope: corev1.ResourceQuotaScopeVolumeAttributesClass},
		"extended resource": {hard: "requests.example.com/gpu", scope: corev1.ResourceQuotaScopeTerminating},
		"class of secrets": {hard: "secrets", selector: &corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpExists},
			want: "unsupported scope applied to resource"},
		"affinity by value": {hard: "pods", selector: &corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopeCrossNamespacePodAffinity, Operator: corev1.ScopeSelectorOpIn, Values: []string{"a"}},
			want: "must be 'Exist' when scope is"},
	} {
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: "ns"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{tc.hard: one}}}
		if tc.scope != "" {
			q.Spec.Scopes = []corev1.ResourceQuotaScope{tc.scope}
		}
		if tc.selector != nil {
			q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{*tc.selector}}
		}
		got := ""
		if errs := ValidateResourceQuota(q); len(errs) > 0 {
			got = errs.ToAggregate().Error()
		}
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
