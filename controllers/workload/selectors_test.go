package workload

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSelects(t *testing.T) {
	web := map[string]string{"app": "web"}
	for name, tc := range map[string]struct {
		selector *metav1.LabelSelector
		labels   map[string]string
		want     bool
	}{
		"matching labels":       {&metav1.LabelSelector{MatchLabels: web}, web, true},
		"different labels":      {&metav1.LabelSelector{MatchLabels: web}, map[string]string{"app": "db"}, false},
		"object without labels": {&metav1.LabelSelector{}, nil, false},
		"no selector":           {nil, web, false},
		"invalid selector":      {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}, web, false},
	} {
		if got := Selects(tc.selector, &metav1.ObjectMeta{Labels: tc.labels}); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}
