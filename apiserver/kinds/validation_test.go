package kinds

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	template = `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"app:1"}]}}`
	workload = `"selector":{"matchLabels":{"a":"b"}},` + template
	jobPod   = `"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"app:1"}]}}`
)

var table = All()

// decode parses an object such as `apps/v1 Deployment {"spec":...}` and sets defaults.
func decode(t *testing.T, text string) (runtime.Object, Kind) {
	t.Helper()
	version, remainder, _ := strings.Cut(text, " ")
	kind, body, _ := strings.Cut(remainder, " ")
	gv, err := schema.ParseGroupVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	obj, err := scheme.Scheme.New(gv.WithKind(kind))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(body), obj); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	m := obj.(metav1.Object)
	if m.GetName() == "" {
		m.SetName("x")
	}
	m.SetUID("u1")
	i := slices.IndexFunc(table, func(k Kind) bool { return k.GroupVersionKind() == gv.WithKind(kind) })
	if i < 0 {
		t.Fatalf("%s %s is not a served kind", version, kind)
	}
	k := table[i]
	if k.Namespaced {
		m.SetNamespace("ns")
	}
	if k.Default != nil {
		k.Default(obj)
	}
	return obj, k
}

// joinErrors joins errors as "path: detail".
func joinErrors(errs field.ErrorList) string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Field+": "+err.Detail)
	}
	return strings.Join(out, "; ")
}

// createObject returns a created object and its validation errors.
func createObject(t *testing.T, text string) (runtime.Object, string) {
	t.Helper()
	obj, k := decode(t, text)
	if k.PrepareCreate != nil {
		k.PrepareCreate(t.Context(), obj)
	}
	return obj, joinErrors(k.Validate(t.Context(), obj))
}

// updateObject returns the validation errors of an update.
func updateObject(t *testing.T, before, after string, status bool) string {
	t.Helper()
	old, errs := createObject(t, before)
	if errs != "" {
		t.Fatalf("creating %s: got errors %s, want none", before, errs)
	}
	obj, k := decode(t, after)
	for _, m := range []metav1.Object{old.(metav1.Object), obj.(metav1.Object)} {
		m.SetResourceVersion("1")
	}
	if status {
		if k.PrepareStatus != nil {
			k.PrepareStatus(t.Context(), obj, old)
		}
		return joinErrors(k.ValidateStatus(t.Context(), obj, old))
	}
	if k.PrepareUpdate != nil {
		k.PrepareUpdate(t.Context(), obj, old)
	}
	return joinErrors(k.ValidateUpdate(t.Context(), obj, old))
}

// TestDefaultsAreIdempotent checks that defaulting twice changes nothing. Stored objects are defaulted on every read.
func TestDefaultsAreIdempotent(t *testing.T) {
	for _, text := range []string{
		`apps/v1 Deployment {"spec":{` + workload + `}}`,
		`apps/v1 DaemonSet {"spec":{` + workload + `}}`,
		`apps/v1 StatefulSet {"spec":{` + workload + `,"volumeClaimTemplates":[{"metadata":{"name":"d"}}]}}`,
		`batch/v1 Job {"spec":{` + jobPod + `}}`,
		`batch/v1 CronJob {"spec":{"schedule":"@daily","jobTemplate":{"spec":{` + jobPod + `}}}}`,
		`v1 Service {"spec":{"type":"LoadBalancer","ports":[{"port":80}]}}`,
		`v1 PersistentVolume {"spec":{"capacity":{"storage":"1Gi"},"hostPath":{"path":"/d"},"accessModes":["ReadWriteOnce"]}}`,
		`v1 Node {"spec":{"podCIDR":"10.0.0.0/24"},"status":{"capacity":{"cpu":"4"}}}`,
		`v1 Secret {"stringData":{"a":"b"}}`,
		`v1 LimitRange {"spec":{"limits":[{"type":"Container","max":{"cpu":"2"}}]}}`,
		`storage.k8s.io/v1 CSIDriver {}`,
		claim(`,"tolerations":[{}]`),
	} {
		obj, k := decode(t, text)
		before, _ := json.Marshal(obj)
		k.Default(obj)
		if after, _ := json.Marshal(obj); string(after) != string(before) {
			t.Errorf("%s: second defaulting:\n got %s\nwant %s", text, after, before)
		}
	}
}
