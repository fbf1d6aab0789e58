package scheduler

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// TestServesWorkQueueMetrics checks that named work queues of the process appear on the metrics page.
func TestServesWorkQueueMetrics(t *testing.T) {
	named := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "scheduler-server-test"})
	defer named.ShutDown()
	named.Add("key")
	s := &scheduler{metrics: &metrics{registry: prometheus.NewRegistry()}}
	page := getPath(s, "/metrics").Body.String()
	for _, want := range []string{`workqueue_adds_total{name="scheduler-server-test"} 1`, `workqueue_depth{name="scheduler-server-test"} 1`} {
		if !strings.Contains(page, want) {
			t.Errorf("the metrics page lacks %q:\n%s", want, page)
		}
	}
}
