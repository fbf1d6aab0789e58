package podgc

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/berthproject/berth/engine/podgc"
)

func TestMetricsByReason(t *testing.T) {
	registry := prometheus.NewRegistry()
	c, err := newMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []podgc.Reason{podgc.OutOfService, podgc.Orphan, podgc.Unscheduled, podgc.Terminated, podgc.Evicted} {
		c.observe(&podgc.Removal{Pod: podgc.Pod{Namespace: "ns"}, Reason: reason}, nil)
	}
	c.observe(&podgc.Removal{Pod: podgc.Pod{Namespace: "ns"}, Reason: podgc.Orphan}, errors.New("failed"))
	const want = `# HELP pod_gc_collector_force_delete_pod_errors_total Number of failed attempts to force-delete pods, by reason.
# TYPE pod_gc_collector_force_delete_pod_errors_total counter
pod_gc_collector_force_delete_pod_errors_total{namespace="ns",reason="orphaned"} 1
# HELP pod_gc_collector_force_delete_pods_total Number of attempts to force-delete pods, by reason, including failed ones.
# TYPE pod_gc_collector_force_delete_pods_total counter
pod_gc_collector_force_delete_pods_total{namespace="ns",reason="evicted"} 1
pod_gc_collector_force_delete_pods_total{namespace="ns",reason="orphaned"} 2
pod_gc_collector_force_delete_pods_total{namespace="ns",reason="out-of-service"} 1
pod_gc_collector_force_delete_pods_total{namespace="ns",reason="terminated"} 1
pod_gc_collector_force_delete_pods_total{namespace="ns",reason="unscheduled"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
