package podtest

import (
	"encoding/json"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const minimalPod = `{"metadata":{"name":"p","namespace":"ns"},"spec":{"containers":[{"name":"c","image":"app:1"}]}}`

// Pod returns a minimal pod merged with a YAML patch, before defaulting.
func Pod(t *testing.T, patch string) *corev1.Pod {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	if patch == "" {
		asJSON = []byte("{}")
	}
	merged, err := jsonpatch.MergePatch([]byte(minimalPod), asJSON)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(merged, pod); err != nil {
		t.Fatal(err)
	}
	return pod
}
