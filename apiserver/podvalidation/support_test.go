package podvalidation

import (
	"encoding/json"
	"slices"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

const plainPod = `{"metadata":{"name":"p","namespace":"ns"},"spec":{"containers":[{"name":"c","image":"app:1"}]}}`

// podOf returns the plain pod merged with a YAML patch, before defaulting.
func podOf(t *testing.T, patch string) *corev1.Pod {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	if patch == "" {
		asJSON = []byte("{}")
	}
	merged, err := jsonpatch.MergePatch([]byte(plainPod), asJSON)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(merged, pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// storedPod returns the pod as it is stored.
func storedPod(t *testing.T, patch string) *corev1.Pod {
	t.Helper()
	pod := podOf(t, patch)
	DefaultPod(pod)
	PrepareForCreate(pod)
	pod.ResourceVersion = "1"
	return pod
}

// fault is a pod with its expected errors.
type fault struct {
	fact  string
	patch string
	want  []string
}

func checkFaults(t *testing.T, faults []fault) {
	t.Helper()
	for _, f := range faults {
		t.Run(f.fact, func(t *testing.T) {
			wantErrors(t, ValidatePod(storedPod(t, f.patch)), f.want)
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
