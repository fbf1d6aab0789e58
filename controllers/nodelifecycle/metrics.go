package nodelifecycle

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/metrics"
)

// nodeMetrics are the metrics of the same controller in kube-controller-manager. It implements prometheus.Collector
// for the metrics of zones.
type nodeMetrics struct {
	evictions                         *prometheus.CounterVec
	updateDuration, updateAllDuration prometheus.Histogram

	mu    sync.Mutex
	zones []nodelifecycle.Zone
}

var (
	sizeDesc      = prometheus.NewDesc("node_collector_zone_size", "Number of nodes in a zone that count for its state.", []string{"zone"}, nil)
	unhealthyDesc = prometheus.NewDesc("node_collector_unhealthy_nodes_in_zone", "Number of nodes in a zone that are not ready.", []string{"zone"}, nil)
	healthDesc    = prometheus.NewDesc("node_collector_zone_health", "Percentage of nodes in a zone that are ready.", []string{"zone"}, nil)
)

func newMetrics(registerer prometheus.Registerer) (*nodeMetrics, error) {
	c := &nodeMetrics{
		evictions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "node_collector_evictions_total",
			Help: "Number of unresponsive nodes that got a NoExecute taint."}, []string{"zone"}),
		updateDuration: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "node_collector_update_node_health_duration_seconds",
			Help: "Time to write the conditions or taints of a node.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8)}),
		updateAllDuration: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "node_collector_update_all_nodes_health_duration_seconds",
			Help: "Duration of a step that evaluates all nodes, without the resulting writes.", Buckets: prometheus.ExponentialBuckets(0.01, 4, 8)}),
	}
	return c, metrics.Register(registerer, c.evictions, c.updateDuration, c.updateAllDuration, c)
}

// Describe implements prometheus.Collector.
func (m *nodeMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- sizeDesc
	ch <- unhealthyDesc
	ch <- healthDesc
}

// Collect reports the zones as of the last step. A zone without nodes has a health of 100 %.
func (m *nodeMetrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.zones {
		z := &m.zones[i]
		emit := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, z.Name)
		}
		emit(sizeDesc, float64(z.Nodes))
		emit(unhealthyDesc, float64(z.Nodes-z.Ready))
		health := 100.0
		if z.Nodes > 0 {
			health = 100 * float64(z.Ready) / float64(z.Nodes)
		}
		emit(healthDesc, health)
	}
}

// observeStep records the zones and, if the step was due, its duration. due is the time for which the machine requested
// the step, or zero.
func (m *nodeMetrics) observeStep(zones []nodelifecycle.Zone, due, start time.Time, duration time.Duration) {
	if !due.IsZero() && !due.After(start) {
		m.updateAllDuration.Observe(duration.Seconds())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.zones = zones
	for i := range zones {
		m.evictions.WithLabelValues(zones[i].Name) // create the series with value 0
	}
}

// observeWrite records the execution of an effect.
func (c *controller) observeWrite(effect nodelifecycle.Effect, start time.Time, err error) {
	c.metrics.updateDuration.Observe(c.env.Since(start).Seconds())
	r, ok := effect.(nodelifecycle.UpdateTaints)
	if err != nil || !ok || !addsNoExecute(&r) {
		return
	}
	if n, err := c.nodes.Get(r.Node); err == nil {
		c.metrics.evictions.WithLabelValues(conversion.NodeLifecycleNode(n).Zone).Inc()
	}
}

// addsNoExecute reports whether the update adds a NoExecute taint to a node that had none.
func addsNoExecute(r *nodelifecycle.UpdateTaints) bool {
	return slices.ContainsFunc(r.Add, func(t model.TimedTaint) bool { return t.Effect == model.NoExecute }) &&
		!slices.ContainsFunc(r.Remove, func(t model.Taint) bool { return t.Effect == model.NoExecute })
}
