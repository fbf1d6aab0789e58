package quantities

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

const slow = "12345678901234567890e100000"

var pods, configMaps = corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithResource("configmaps")

func newChecker() *Checker {
	return New(scheme.Scheme, map[schema.GroupVersionResource]reflect.Type{pods: reflect.TypeFor[*corev1.Pod](), configMaps: reflect.TypeFor[*corev1.ConfigMap]()})
}

// withCPU returns a pod in JSON whose container requests the given JSON value of CPU.
func withCPU(value string) string {
	return `{"metadata":{"labels":{"a":"5e1234567","b":"` + slow + `"}},"spec":{"containers":[{"resources":{"requests":{"cpu":` + value + `}}}]}}`
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct{ mediaType, body, want string }{
		{"application/json", withCPU(`"1500m"`), ""},
		{"application/json", withCPU(`"1e64"`), ""},
		{"application/json", withCPU(`1e18`), ""},
		{"application/json", withCPU(`"1e0000000005"`), ""},
		{"application/json", withCPU(`"` + strings.Repeat("9", 64) + `"`), ""},
		{"application/json", `{"spec":{"containers":[{"image":"` + slow + `"}]`, ""},
		{"application/json", withCPU(`"` + slow + `"`), `spec.containers.0.resources.requests.cpu: quantity "` + slow + `": the exponent must be from -64 to 64`},
		{"", withCPU(`1e100000`), "spec.containers.0.resources.requests.cpu"},
		{"application/json", withCPU(`"E-65"`), "spec.containers.0.resources.requests.cpu"},
		{"application/json", withCPU(`"1e99999999999999999999"`), "spec.containers.0.resources.requests.cpu"},
		{"application/json", withCPU(`"1\u0065100000"`), "spec.containers.0.resources.requests.cpu"},
		{"application/json", withCPU(`" ` + slow + ` "`), "spec.containers.0.resources.requests.cpu"},
		{"application/json", withCPU(`"` + slow + `","cpu":"1"`), "spec.containers.0.resources.requests.cpu"},
		{"application/json", withCPU(`"` + strings.Repeat("9", 65) + `"`), "a quantity of 65 characters: must have at most 64"},
		{"application/json", `{"spec":{"volumes":[{"emptyDir":{"sizeLimit":"` + slow + `"}}]}}`, "spec.volumes.0.emptyDir.sizeLimit"},
		{"application/strategic-merge-patch+json", withCPU(`"` + slow + `"`), "spec.containers.0.resources.requests.cpu"},
		{"application/apply-patch+yaml", "spec:\n  containers:\n  - resources:\n      requests:\n        cpu: \"123456789012345678901e\\\n          100000\"\n", "spec.containers.0.resources.requests.cpu"},
		{"application/yaml", "spec: {overhead: {cpu: 1e+300}}", "spec.overhead.cpu"},
		{"application/json-patch+json", `[{"op":"add","path":"/spec/containers/0/resources","value":{"limits":{"cpu":"` + slow + `"}}}]`, "operation 0 of the patch: limits.cpu"},
		{"application/json-patch+json", `[{"op":"add","path":"/metadata/labels/x","value":"` + slow + `"}]`, ""},
		{"application/json-patch+json", `[{"op":"copy","path":"/spec/overhead/cpu","from":"/metadata/labels/b"}]`, "a quantity must be copied from a field of the same type"},
		{"application/json-patch+json", `[{"op":"copy","path":"/spec/overhead","from":"/spec/containers/0/resources/limits"}]`, ""},
		{"application/json-patch+json", `[{"op":"replace","path":"/kind","value":"Node"}]`, "must not replace the kind"},
	} {
		err := newChecker().Check(pods, http.Header{"Content-Type": {tc.mediaType}}, []byte(tc.body))
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %s: error %v, want %q", tc.mediaType, tc.body, err, tc.want)
		}
	}
}

// TestCheckUsesTheKindInTheBody checks that an object of another kind than the resource is checked, too: the API server
// decodes it before it refuses it.
func TestCheckUsesTheKindInTheBody(t *testing.T) {
	body := `{"apiVersion":"v1","spec":{"overhead":{"cpu":"` + slow + `"}},"kind":"Pod"}`
	if err := newChecker().Check(configMaps, http.Header{}, []byte(body)); err == nil {
		t.Error("a pod with a slow quantity, sent as a ConfigMap, passes, want an error")
	}
}

func TestCheckProtobuf(t *testing.T) {
	header := http.Header{"Content-Type": {runtime.ContentTypeProtobuf}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": slow}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{}}}}
	encode := func(kind string, o interface{ Marshal() ([]byte, error) }) []byte {
		raw, err := o.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}
		data, err := envelope.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return append([]byte(protobufPrefix), data...)
	}
	if err := newChecker().Check(pods, header, encode("Pod", pod)); err != nil {
		t.Errorf("a pod with a slow quantity in a label: error %v, want none", err)
	}
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("1e300")}
	for _, tc := range []struct {
		resource schema.GroupVersionResource
		kind     string
	}{{pods, "Pod"}, {pods, "Unknown"}, {configMaps, "Pod"}} {
		if err := newChecker().Check(tc.resource, header, encode(tc.kind, pod)); err == nil || !strings.Contains(err.Error(), `quantity "1e300": the exponent must be`) {
			t.Errorf("a slow quantity in kind %s for %s: error %v, want one about the exponent", tc.kind, tc.resource.Resource, err)
		}
	}
}

// BenchmarkCheck measures a pod of 5 KiB without quantities of long text (fast), and one that is walked.
func BenchmarkCheck(b *testing.B) {
	for name, label := range map[string]string{"fast": "none", "walked": "5e1234567"} {
		body := []byte(`{"metadata":{"labels":{"a":"` + label + strings.Repeat(" abcdefgh", 550) + `"}},"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}}`)
		b.Run(name, func(b *testing.B) {
			c := newChecker()
			for b.Loop() {
				if err := c.Check(pods, http.Header{}, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
