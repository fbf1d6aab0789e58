package podvalidation

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/podvalidation/podstrategy"
	"github.com/berthproject/berth/apiserver/podvalidation/podtest"
)

// storedPod returns the test pod with a patch, as it would be stored.
func storedPod(t *testing.T, patch string) *corev1.Pod {
	t.Helper()
	pod := podtest.Pod(t, patch)
	poddefaults.DefaultPod(pod)
	podstrategy.PrepareForCreate(pod)
	pod.ResourceVersion = "1"
	return pod
}

// validationCase is a pod with its expected errors.
type validationCase struct {
	name  string
	patch string
	want  []string
}

// checkCases validates new pods.
func checkCases(t *testing.T, cases []validationCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			wantErrors(t, ValidatePod(storedPod(t, tc.patch)), tc.want)
		})
	}
}

// wantErrors compares errors as "field: message", in order.
func wantErrors(t *testing.T, errs field.ErrorList, want []string) {
	t.Helper()
	var got []string
	for _, err := range errs {
		got = append(got, err.Error())
	}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}
