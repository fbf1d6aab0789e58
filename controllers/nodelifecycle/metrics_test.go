package nodelifecycle

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodelifecycle"
)

// TestZoneMetrics checks the metrics after one node of three becomes unresponsive and is tainted.
func TestZoneMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		registry := prometheus.NewRegistry()
		api := fake.NewClientset(newNode("a"), newNode("b"), newNode("c"))
		var wg sync.WaitGroup
		for _, name := range []string{"a", "b", "c"} {
			wg.Go(func() { renewLease(ctx, t, api, name, func() bool { return name != "a" }) })
		}
		factory := informers.NewSharedInformerFactory(api, 0)
		wg.Go(func() {
			if err := Run(ctx, runner.Process{Environment: runner.Production(), Client: api, Informers: factory, Log: klog.Background()}, nodelifecycle.Defaults(), registry); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(10 * time.Minute)
		const want = `# HELP node_collector_evictions_total Number of unresponsive nodes that got a NoExecute taint.
# TYPE node_collector_evictions_total counter
node_collector_evictions_total{zone=""} 1
# HELP node_collector_unhealthy_nodes_in_zone Number of nodes in a zone that are not ready.
# TYPE node_collector_unhealthy_nodes_in_zone gauge
node_collector_unhealthy_nodes_in_zone{zone=""} 1
# HELP node_collector_zone_health Percentage of nodes in a zone that are ready.
# TYPE node_collector_zone_health gauge
node_collector_zone_health{zone=""} 66.66666666666667
# HELP node_collector_zone_size Number of nodes in a zone that count for its state.
# TYPE node_collector_zone_size gauge
node_collector_zone_size{zone=""} 3
`
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "node_collector_evictions_total",
			"node_collector_unhealthy_nodes_in_zone", "node_collector_zone_health", "node_collector_zone_size"); err != nil {
			t.Error(err)
		}
		if n, err := testutil.GatherAndCount(registry, "node_collector_update_node_health_duration_seconds", "node_collector_update_all_nodes_health_duration_seconds"); err != nil || n != 2 {
			t.Errorf("%d histograms, want 2; error %v", n, err)
		}
		cancel()
		wg.Wait()
		factory.Shutdown()
	})
}

// TestReplacedTaintIsNotCounted checks that a NoExecute taint that replaces another one is not counted again.
func TestReplacedTaintIsNotCounted(t *testing.T) {
	noExecute := model.Taint{Key: nodelifecycle.TaintUnreachable, Effect: model.NoExecute}
	r := nodelifecycle.UpdateTaints{Add: []model.TimedTaint{{Taint: noExecute}}}
	if !addsNoExecute(&r) {
		t.Error("a new taint is not counted, want it counted")
	}
	r.Remove = []model.Taint{{Key: nodelifecycle.TaintNotReady, Effect: model.NoExecute}}
	if addsNoExecute(&r) {
		t.Error("a replaced taint is counted, want only new ones counted")
	}
}
