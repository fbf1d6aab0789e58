package conversion

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
)

// pod decodes a pod from JSON.
func pod(t testing.TB, text string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRequests(t *testing.T) {
	checkRequests := func(name, spec string, requests, scoring model.Resources) {
		t.Helper()
		got := New().Pod(pod(t, `{"spec":`+spec+`}`)).Spec
		if !reflect.DeepEqual(got.Requests, requests) || !reflect.DeepEqual(got.Scoring, scoring) {
			t.Errorf("%s: got requests %+v, scoring %+v; want %+v, %+v", name, got.Requests, got.Scoring, requests, scoring)
		}
	}
	const mi = 1 << 20
	checkRequests("no requests", `{"containers":[{},{}]}`,
		model.Resources{}, model.Resources{MilliCPU: 200, Memory: 400 * mi})
	checkRequests("init peak, sidecar and overhead", `{
		"initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"1","memory":"10Mi"}}},
		                  {"resources":{"requests":{"cpu":"3","memory":"1Mi"}}}],
		"containers":[{"resources":{"requests":{"cpu":"1","memory":"100Mi","example.com/gpu":"2"}}}],
		"overhead":{"cpu":"100m"}}`,
		model.Resources{MilliCPU: 4100, Memory: 110 * mi, Scalars: []model.Scalar{{Name: "example.com/gpu", Amount: 2}}},
		model.Resources{MilliCPU: 4100, Memory: 110 * mi, Scalars: []model.Scalar{{Name: "example.com/gpu", Amount: 2}}})
	checkRequests("pod level", `{"resources":{"requests":{"cpu":"2"}},"containers":[{}]}`,
		model.Resources{MilliCPU: 2000}, model.Resources{MilliCPU: 2000, Memory: 200 * mi})
}

func TestEqualPodsShareTheirSpec(t *testing.T) {
	conv := New()
	const spec = `"spec":{"nodeName":"n1","containers":[{"name":"c","image":"a","resources":{"requests":{"cpu":"1"}}}]}`
	a := conv.Pod(pod(t, `{"metadata":{"name":"a","labels":{"x":"1"}},`+spec+`}`))
	b := conv.Pod(pod(t, `{"metadata":{"name":"b","labels":{"x":"2"}},`+spec+`,
		"status":{"phase":"Running","containerStatuses":[{"name":"c","allocatedResources":{"cpu":"1000m"}}]}}`))
	if a.Spec != b.Spec {
		t.Error("equal specifications are not shared")
	}
	c := conv.Pod(pod(t, `{"metadata":{"name":"c"},"spec":{"containers":[{"image":"a","resources":{"requests":{"cpu":"2"}}}]}}`))
	if a.Spec == c.Spec {
		t.Error("different requests share a specification")
	}
}

func TestEqualLabelsAreShared(t *testing.T) {
	conv := New()
	a := conv.Pod(pod(t, `{"metadata":{"labels":{"app":"web","tier":"x"}}}`)).Labels
	b := conv.Pod(pod(t, `{"metadata":{"labels":{"tier":"x","app":"web"}},"spec":{"containers":[{"image":"a"}]}}`)).Labels
	c := conv.Pod(pod(t, `{"metadata":{"labels":{"app":"web","tier":"y"}}}`)).Labels
	if &a[0] != &b[0] {
		t.Error("equal labels are not shared")
	}
	if v, _ := c.Get("tier"); v != "y" || len(c) != 2 {
		t.Errorf("got labels %v, want app=web, tier=y", c)
	}
	if got := conv.Pod(pod(t, `{"metadata":{"labels":{}}}`)).Labels; got != nil {
		t.Errorf("got %v for a pod without labels, want nil", got)
	}
}

func TestInternTableIsBounded(t *testing.T) {
	conv := New()
	conv.specs.limit, conv.labels.limit = 4, 4
	p := &corev1.Pod{}
	first := conv.Pod(p).Spec
	for i := range int32(100) {
		q := &corev1.Pod{}
		q.Spec.Priority, q.Labels = &i, map[string]string{"i": fmt.Sprint(i)}
		conv.Pod(q)
		if conv.Pod(p).Spec != first {
			t.Fatalf("a specification in use was dropped after %d others", i)
		}
		if n := len(conv.specs.young) + len(conv.specs.old); n > 8 {
			t.Fatalf("table holds %d specifications, limit 4 a generation", n)
		}
		if n := len(conv.labels.young) + len(conv.labels.old); n > 8 {
			t.Fatalf("table holds %d sets of labels, limit 4 a generation", n)
		}
	}
}

func TestParseErrors(t *testing.T) {
	checkParseError := func(spec string, want model.ParseError) {
		t.Helper()
		got := New().Pod(pod(t, `{"spec":`+spec+`}`)).Spec.ParseErrors
		if len(got) != 1 || got[0] != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	checkParseError(`{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
		{"topologyKey":"z","labelSelector":{"matchExpressions":[{"key":"a","operator":"Near"}]}}]}}}`,
		model.ParseError{Kind: model.ParseErrorPodAffinity, Path: "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]",
			Message: `requiredAffinityTerms: "Near" is not a valid label selector operator`})
	checkParseError(`{"topologySpreadConstraints":[{"whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchExpressions":[{"key":"a","operator":"In"}]}}]}`,
		model.ParseError{Kind: model.ParseErrorHardSpread, Path: "spec.topologySpreadConstraints[0].labelSelector",
			Message: `values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty`})
	checkParseError(`{"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
		{"weight":1,"preference":{"matchExpressions":[{"key":"cores","operator":"Gt","values":["many"]}]}}]}}}`,
		model.ParseError{Kind: model.ParseErrorPreferredNodeAffinity, Path: "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution",
			Message: `[0].matchExpressions[0].values[0]: Invalid value: "many": for 'Gt', 'Lt' operators, the value must be an integer`})
}

func TestImageName(t *testing.T) {
	for in, want := range map[string]string{
		"app":                   "app:latest",
		"reg:5000/app":          "reg:5000/app:latest",
		"app:1":                 "app:1",
		"reg:5000/app@sha256:0": "reg:5000/app@sha256:0",
	} {
		if got := ImageName(in); got != want {
			t.Errorf("ImageName(%q) = %q, want %q", in, got, want)
		}
	}
}

func BenchmarkRepeatedPod(b *testing.B) {
	conv := New()
	p := pod(b, `{"metadata":{"name":"a","namespace":"d","labels":{"app":"web","pod-template-hash":"x"}},"spec":{
		"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
		"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{
			"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"web"}}}}]}},
		"containers":[{"name":"c","image":"a:1","resources":{"requests":{"cpu":"100m","memory":"128Mi"}}}]}}`)
	b.ReportAllocs()
	for b.Loop() {
		conv.Pod(p)
	}
}
