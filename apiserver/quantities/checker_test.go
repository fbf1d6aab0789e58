package quantities

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const slow = "12345678901234567890e100000"

var pods, configMaps = corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithResource("configmaps")

func newChecker() *Checker {
	types := runtime.NewScheme()
	_ = corev1.AddToScheme(types)
	types.AddKnownTypeWithName(schema.GroupVersionKind{Version: runtime.APIVersionInternal, Kind: "Pod"}, &corev1.Pod{})
	return New(types, map[schema.GroupVersionResource]reflect.Type{pods: reflect.TypeFor[*corev1.Pod](), configMaps: reflect.TypeFor[*corev1.ConfigMap]()})
}

// cpuOf returns a pod in JSON whose container requests the given JSON value of CPU.
func cpuOf(value string) string {
	return `{"spec":{"containers":[{"resources":{"requests":{"cpu":` + value + `}}}]}}`
}

// labeled adds labels to a pod in JSON that look like quantities that take long to parse.
func labeled(pod string) string {
	return `{"metadata":{"labels":{"a":"5e1234567","b":"` + slow + `"}},` + pod[1:]
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct{ mediaType, body, want string }{
		{"application/json", labeled(cpuOf(`"1500m"`)), ""},
		{"application/json", labeled(cpuOf(`"1e64"`)), ""},
		{"application/json", labeled(cpuOf(`1e18`)), ""},
		{"application/json", labeled(cpuOf(`"1e0000000005"`)), ""},
		{"application/json", labeled(cpuOf(`"` + strings.Repeat("9", 64) + `"`)), ""},
		{"application/json", `{"spec":{"containers":[{"image":"` + slow + `"}]`, ""},
		{"application/json", cpuOf(`"` + slow + `"`), `spec.containers.0.resources.requests.cpu: quantity "` + slow + `": the exponent must be from -64 to 64`},
		{"", cpuOf(`1e100000`), "spec.containers.0.resources.requests.cpu"},
		{"application/json", cpuOf(`"E-65"`), "spec.containers.0.resources.requests.cpu"},
		{"application/json", cpuOf(`"1e99999999999999999999"`), "spec.containers.0.resources.requests.cpu"},
		{"application/json", cpuOf(`"1\u0065100000"`), "spec.containers.0.resources.requests.cpu"},
		{"application/json", cpuOf(`" ` + slow + ` "`), "spec.containers.0.resources.requests.cpu"},
		{"application/json", cpuOf(`"` + slow + `","cpu":"1"`), "spec.containers.0.resources.requests.cpu"},
		{"application/json", cpuOf(`"` + strings.Repeat("9", 65) + `"`), "a quantity of 65 characters: must have at most 64"},
		{"application/json", `{"spec":{"volumes":[{"emptyDir":{"sizeLimit":"` + slow + `"}}]}}`, "spec.volumes.0.emptyDir.sizeLimit"},
		{"application/strategic-merge-patch+json", cpuOf(`"` + slow + `"`), "spec.containers.0.resources.requests.cpu"},
		{"application/apply-patch+yaml", "spec:\n  containers:\n  - resources:\n      requests:\n        cpu: \"123456789012345678901e\\\n          100000\"\n", "spec.containers.0.resources.requests.cpu"},
		{"application/yaml", "spec: {overhead: {cpu: 1e+300}}", "spec.overhead.cpu"},
		{"application/json-patch+json", `[{"op":"add","path":"/spec/containers/0/resources","value":{"limits":{"cpu":"` + slow + `"}}}]`, "operation 0 of the patch: limits.cpu"},
		{"application/json-patch+json", `[{"op":"add","path":"/metadata/labels/x","value":"` + slow + `"}]`, ""},
		{"application/json-patch+json", `[{"op":"copy","path":"/spec/overhead/cpu","from":"/metadata/labels/b"}]`, "a quantity must be copied from a field of the same type"},
		{"application/json-patch+json", `[{"op":"copy","path":"/spec/overhead","from":"/spec/containers/0/resources/limits"}]`, ""},
		{"application/json-patch+json", `[{"op":"replace","path":"/kind","value":"Node"}]`, "must not change the kind"},
		{"application/json-patch+json", `[{"op":"replace","path":"x/kind","value":"Node"}]`, "must not change the kind"},
		{"application/json-patch+json", `[{"op":"add","path":"x/spec/overhead","value":{"cpu":"` + slow + `"}}]`, "operation 0 of the patch: cpu"},
		{"application/json-patch+json; x", `[{"op":"add","path":"/spec/overhead","value":{"cpu":"` + slow + `"}}]`, "operation 0 of the patch: cpu"},
		{"Application/JSON", cpuOf(`"1e99"`), "spec.containers.0.resources.requests.cpu"},
	} {
		err := newChecker().Check(pods, http.Header{"Content-Type": {tc.mediaType}}, []byte(tc.body))
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %s: error %v, want %q", tc.mediaType, tc.body, err, tc.want)
		}
	}
}

// TestCheckJSONIgnoresCase checks names in another case than that of the type.
func TestCheckJSONIgnoresCase(t *testing.T) {
	if err := CheckJSON([]byte(`{"Spec":{"OVERHEAD":{"cpu":"`+slow+`"}}}`), reflect.TypeFor[corev1.Pod]()); err == nil {
		t.Error("a slow quantity passes, want an error")
	}
	if err := CheckJSON([]byte(`{"Spec":{"NodeName":"`+slow+`"}}`), reflect.TypeFor[corev1.Pod]()); err != nil {
		t.Errorf("a name: error %v, want none", err)
	}
}

// TestCheckUsesTheKindInTheBody checks that an object of another kind than the resource is checked, too: the API server
// decodes it before it refuses it.
func TestCheckUsesTheKindInTheBody(t *testing.T) {
	// The decoder takes a missing version from the resource, and its scheme has the internal version.
	for _, version := range []string{`"apiVersion":"v1",`, `"apiVersion":"__internal",`, ""} {
		body := `{` + version + `"spec":{"overhead":{"cpu":"` + slow + `"}},"kind":"Pod"}`
		if err := newChecker().Check(configMaps, http.Header{}, []byte(body)); err == nil {
			t.Errorf("%s, sent as a ConfigMap, passes, want an error", body)
		}
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
	}{{pods, "Pod"}, {pods, ""}, {configMaps, "Pod"}} {
		if err := newChecker().Check(tc.resource, header, encode(tc.kind, pod)); err == nil || !strings.Contains(err.Error(), `quantity "1e300": the exponent must be`) {
			t.Errorf("a slow quantity in kind %s for %s: error %v, want one about the exponent", tc.kind, tc.resource.Resource, err)
		}
	}
	// The decoder drops the bits of a varint beyond 64.
	overlong := append([]byte("\xd2\x80\x80\x80\x80\x80\x80\x80\x80\x02\x00"), pod.Spec.Containers[0].Name...)
	data, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: overlong}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := newChecker().Check(pods, header, append([]byte(protobufPrefix), data...)); !errors.Is(err, errMalformed) {
		t.Errorf("an overlong field number: error %v, want %v", err, errMalformed)
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
