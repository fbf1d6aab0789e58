package apiserver_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// TestSlowQuantitiesAreRefused checks that a request with quantities that take minutes to decode is refused, as an
// object and as each type of patch.
func TestSlowQuantitiesAreRefused(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(start(t).LoopbackConfig()).CoreV1()
	if _, err := client.ConfigMaps("default").Create(t.Context(), configMap("x"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var hard []string
	for i := range 20 {
		hard = append(hard, fmt.Sprintf(`"limits.example.com/%d":"12345678901234567890e100000"`, i))
	}
	spec := `{"hard":{` + strings.Join(hard, ",") + `}}`
	object := `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":` + spec + `}`
	const quotas = "/api/v1/namespaces/default/resourcequotas"
	for name, send := range map[string]func() error{
		"create": func() error {
			return client.RESTClient().Post().AbsPath(quotas).Body([]byte(object)).Do(t.Context()).Error()
		},
		"create as another kind": func() error {
			return client.RESTClient().Post().AbsPath("/api/v1/namespaces/default/configmaps").Body([]byte(object)).Do(t.Context()).Error()
		},
		"apply": func() error {
			return client.RESTClient().Patch(types.ApplyYAMLPatchType).AbsPath(quotas, "q").Param("fieldManager", "test").Body([]byte(object)).Do(t.Context()).Error()
		},
		"strategic merge patch": func() error {
			return client.RESTClient().Patch(types.StrategicMergePatchType).AbsPath(quotas, "q").Body([]byte(object)).Do(t.Context()).Error()
		},
		"JSON patch": func() error {
			return client.RESTClient().Patch(types.JSONPatchType).AbsPath(quotas, "q").Body([]byte(`[{"op":"add","path":"/spec","value":` + spec + `}]`)).Do(t.Context()).Error()
		},
	} {
		if err := send(); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "the exponent must be from -64 to 64") {
			t.Errorf("%s: error %v, want a bad request about the exponent", name, err)
		}
	}
}
