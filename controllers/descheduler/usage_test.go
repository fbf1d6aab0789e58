package descheduler

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metricsfake "k8s.io/metrics/pkg/client/clientset/versioned/fake"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/plugins"
)

func newUsage(cpu string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("64Mi")}
}

// newMetricsClient returns a metrics API in which the pods of n1 use more CPU than they request, and n2 is
// underutilized. It counts the API requests.
func newMetricsClient(requests *int, fails bool) *metricsfake.Clientset {
	client := metricsfake.NewSimpleClientset()
	respond := func(list runtime.Object) func(ktesting.Action) (bool, runtime.Object, error) {
		return func(ktesting.Action) (bool, runtime.Object, error) {
			*requests++
			if fails {
				return true, nil, errors.New("the server could not find the requested resource")
			}
			return true, list, nil
		}
	}
	nodes, pods := &metricsv1beta1.NodeMetricsList{}, &metricsv1beta1.PodMetricsList{}
	for name, cpu := range map[string]string{"n1": "3600m", "n2": "100m", "n3": "2"} {
		nodes.Items = append(nodes.Items, metricsv1beta1.NodeMetrics{ObjectMeta: metav1.ObjectMeta{Name: name}, Usage: newUsage(cpu)})
	}
	for _, o := range unbalancedCluster() {
		if p, ok := o.(*corev1.Pod); ok {
			pods.Items = append(pods.Items, metricsv1beta1.PodMetrics{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
				Containers: []metricsv1beta1.ContainerMetrics{{Name: "a", Usage: newUsage("500m")}, {Name: "b", Usage: newUsage("400m")}}})
		}
	}
	pods.Items = append(pods.Items, metricsv1beta1.PodMetrics{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "deleted"}})
	client.PrependReactor("list", "nodes", respond(nodes))
	client.PrependReactor("list", "pods", respond(pods))
	return client
}

// newUtilizationPolicy returns a policy of LowNodeUtilization.
func newUtilizationPolicy(useMetrics bool) descheduling.Policy {
	cpu := func(percent float64) plugins.Thresholds {
		return plugins.Thresholds{{Resource: "cpu", Percent: percent}}
	}
	return descheduling.Policy{Profiles: []descheduling.Profile{{Name: "default",
		Balance: []descheduling.Strategy{&plugins.LowNodeUtilization{Thresholds: cpu(20), Targets: cpu(70), UseMetrics: useMetrics}}}}}
}

func TestReadUsage(t *testing.T) {
	requests := 0
	o := newOptions(t, fake.NewClientset(unbalancedCluster()...), Compatible)
	o.DryRun, o.Usage, o.Policy = true, newMetricsClient(&requests, false), newUtilizationPolicy(true)
	r, report := runOnce(t, o)
	if len(report.Moves) != 1 || report.Moves[0].From != "n1" || !strings.Contains(report.Moves[0].Reason, "90.0 %") || requests != 2 {
		t.Errorf("moves %+v after %d requests, want 1 move from n1 after 2 requests", report.Moves, requests)
	}
	u, err := r.readUsage(t.Context())
	if err != nil || len(u.Nodes) != 3 || len(u.Pods) != len(r.state.pods) {
		t.Fatalf("usage %+v, error %v, want 3 nodes and all pods", u, err)
	}
	for uid := range r.state.pods {
		if got := u.Pods[uid]; got.MilliCPU != 900 || got.Memory != 128<<20 {
			t.Errorf("usage of %s is %+v, want 900m and 128Mi", uid, got)
		}
	}
}

// TestUsageIsReadOnlyIfNeeded checks that usage is read only if a strategy uses it. A run fails with the cause if that
// usage is not available.
func TestUsageIsReadOnlyIfNeeded(t *testing.T) {
	for useMetrics, want := range map[bool]string{true: "reading the usage of nodes from metrics.k8s.io", false: ""} {
		requests := 0
		o := newOptions(t, fake.NewClientset(unbalancedCluster()...), Compatible)
		o.DryRun, o.Usage, o.Policy = true, newMetricsClient(&requests, true), newUtilizationPolicy(useMetrics)
		r, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Run(t.Context())
		if (err != nil) != useMetrics || useMetrics && !strings.Contains(err.Error(), want) || (requests > 0) != useMetrics {
			t.Errorf("useMetrics %t: %d requests, error %v, want requests and an error %q only with useMetrics", useMetrics, requests, err, want)
		}
	}
}
