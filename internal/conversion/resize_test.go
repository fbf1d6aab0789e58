package conversion

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestResizeUsesMaxResources(t *testing.T) {
	const (
		one     = `"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]`
		two     = `"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}},{"name":"d","resources":{"requests":{"cpu":"3"}}}]`
		actual2 = `"containerStatuses":[{"name":"c","resources":{"requests":{"cpu":"2"}}}`
	)
	tests := []struct {
		name, spec, status string
		want               int64
	}{
		{"actual resources above desired and allocated", `"nodeName":"n",` + one,
			`"containerStatuses":[{"name":"c","allocatedResources":{"cpu":"2"},"resources":{"requests":{"cpu":"3"}}}]`, 3000},
		{"a pending pod has no allocation", one, actual2 + `]`, 1000},
		{"an allocation alone does not count", `"nodeName":"n",` + one, `"containerStatuses":[{"name":"c","allocatedResources":{"cpu":"2"}}]`, 1000},
		{"per container", `"nodeName":"n",` + two, actual2 + `,{"name":"d","resources":{"requests":{"cpu":"1"}}}]`, 5000},
		{"infeasible: desired resources do not count", `"nodeName":"n",` + two,
			actual2 + `,{"name":"d","resources":{"requests":{"cpu":"1"}}}],"conditions":[{"type":"PodResizePending","status":"True","reason":"Infeasible"}]`, 3000},
		{"init containers that terminate", `"nodeName":"n","initContainers":[{"name":"i","resources":{"requests":{"cpu":"2"}}}],` + one,
			`"initContainerStatuses":[{"name":"i","resources":{"requests":{"cpu":"4"}}}]`, 2000},
		{"sidecars", `"nodeName":"n","initContainers":[{"name":"i","restartPolicy":"Always","resources":{"requests":{"cpu":"2"}}}],` + one,
			`"initContainerStatuses":[{"name":"i","resources":{"requests":{"cpu":"4"}}}]`, 5000},
		{"pod level", `"nodeName":"n","resources":{"requests":{"cpu":"2"}},` + one,
			`"allocatedResources":{"cpu":"3"},"resources":{"requests":{"cpu":"2500m"}}`, 3000},
	}
	for _, tt := range tests {
		p := New().Pod(pod(t, `{"spec":{`+tt.spec+`},"status":{`+tt.status+`}}`))
		if got := p.Spec.Requests.MilliCPU; got != tt.want {
			t.Errorf("%s: got %dm cpu, want %dm", tt.name, got, tt.want)
		}
	}
}

// TestDeferredResize checks that only a bound pod whose node deferred its resize has one, with the requests that it
// holds without the resize.
func TestDeferredResize(t *testing.T) {
	const (
		spec   = `"containers":[{"name":"c","resources":{"requests":{"cpu":"4"}}}]`
		status = `"containerStatuses":[{"name":"c","allocatedResources":{"cpu":"1"},"resources":{"requests":{"cpu":"2"}}}],"conditions":[{"type":"PodResizePending","status":"True","reason":"`
	)
	for name, tt := range map[string]struct {
		spec, reason string
		current      int64 // 0: no resize
	}{
		"deferred":           {`"nodeName":"n",` + spec, "Deferred", 2000},
		"infeasible":         {`"nodeName":"n",` + spec, "Infeasible", 0},
		"pod without a node": {spec, "Deferred", 0},
	} {
		p := New().Pod(pod(t, `{"spec":{`+tt.spec+`},"status":{`+status+tt.reason+`"}]}}`))
		current := int64(0)
		if p.DeferredResize != nil {
			current = p.DeferredResize.Current.MilliCPU
		}
		if current != tt.current {
			t.Errorf("%s: got %dm cpu without the resize, want %dm", name, current, tt.current)
		}
		if tt.current > 0 && p.Spec.Requests.MilliCPU != 4000 {
			t.Errorf("%s: got %dm cpu, want the desired 4000m", name, p.Spec.Requests.MilliCPU)
		}
	}
}

func TestResourceClaims(t *testing.T) {
	const spec = `{"spec":{"resourceClaims":[{"name":"a","resourceClaimTemplateName":"t"}]},"status":{`
	for status, want := range map[string]string{
		``: "no claim",
		`"resourceClaimStatuses":[{"name":"a","resourceClaimName":"generated"}]`: "generated",
		`"resourceClaimStatuses":[{"name":"a"}]`:                                 "not needed",
	} {
		got := "not needed"
		if claims := New().Pod(pod(t, spec+status+`}}`)).Spec.ResourceClaims; len(claims) > 0 {
			if got = claims[0].Claim; got == "" {
				got = "no claim"
			}
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", status, got, want)
		}
	}
}

func TestSnapshotNominations(t *testing.T) {
	for _, tt := range []struct {
		extra string
		want  int
	}{
		{``, 1},
		{`"schedulerName":"second",`, 1},
		{`"schedulerName":"other",`, 0},
		{`"schedulingGates":[{"name":"g"}],`, 0},
	} {
		p := pod(t, `{"metadata":{"name":"p","uid":"u"},"spec":{`+tt.extra+`"containers":[]},"status":{"nominatedNodeName":"n"}}`)
		s, pods, _ := New().Snapshot([]runtime.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, p}, "default-scheduler", "second")
		id, _ := s.NodeID("n")
		if got := len(s.Nominated(id)); got != tt.want || len(pods) != 1 {
			t.Errorf("%s: got %d nominated and %d pods, want %d nominated and 1 pod", tt.extra, got, len(pods), tt.want)
		}
	}
}
