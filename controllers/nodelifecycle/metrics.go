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

// nodeMetrics are kube-controller-manager's metrics of the same loop. It implements prometheus.Collector for
// those that show how the zones stand.
type nodeMetrics struct {
	evictions                         *prometheus.CounterVec
	updateDuration, updateAllDuration prometheus.Histogram

	mu    sync.Mutex
	zones []nodelifecycle.Zone
}

var (
	sizeDesc      = prometheus.NewDesc("node_collector_zone_size", "Number of nodes of a zone that count for its state.", []string{"zone"}, nil)
	unhealthyDesc = prometheus.NewDesc("node_collector_unhealthy_nodes_in_zone", "Number of nodes of a zone that are not ready.", []string{"zone"}, nil)
	healthDesc    = prometheus.NewDesc("node_collector_zone_health", "Percentage of the nodes of a zone that are ready.", []string{"zone"}, nil)
)

func newMetrics(registerer prometheus.Registerer) (*nodeMetrics, error) {
	c := &nodeMetrics{
		evictions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "node_collector_evictions_total",
			Help: "Number of nodes that were lost and got the taint that drives pods out."}, []string{"zone"}),
		updateDuration: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "node_collector_update_node_health_duration_seconds",
			Help: "Time to write the conditions or taints of a node.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8)}),
		updateAllDuration: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "node_collector_update_all_nodes_health_duration_seconds",
			Help: "Time of a step in which all nodes were due to be looked at; what is to be written is written after it.", Buckets: prometheus.ExponentialBuckets(0.01, 4, 8)}),
	}
	return c, metrics.Register(registerer, c.evictions, c.updateDuration, c.updateAllDuration, c)
}

// Describe names the metrics of zones.
func (c *nodeMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- sizeDesc
	ch <- unhealthyDesc
	ch <- healthDesc
}

// Collect shows how the zones stood when the nodes were looked at last. A zone without nodes is full of health.
func (c *nodeMetrics) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.zones {
		z := &c.zones[i]
		show := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, z.Name)
		}
		show(sizeDesc, float64(z.Nodes))
		show(unhealthyDesc, float64(z.Nodes-z.Ready))
		health := 100.0
		if z.Nodes > 0 {
			health = 100 * float64(z.Ready) / float64(z.Nodes)
		}
		show(healthDesc, health)
	}
}

// observeStep notes how the zones stand. The machine was asked for a step at due.
func (c *nodeMetrics) observeStep(zones []nodelifecycle.Zone, due, began time.Time) {
	if !due.IsZero() && !due.After(began) {
		c.updateAllDuration.Observe(time.Since(began).Seconds())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.zones = zones
	for i := range zones {
		c.evictions.WithLabelValues(zones[i].Name) // there from the start
	}
}

// observeWrite notes that an effect was carried out.
func (h *controller) observeWrite(effect nodelifecycle.Effect, began time.Time, err error) {
	h.metrics.updateDuration.Observe(time.Since(began).Seconds())
	r, ok := effect.(nodelifecycle.UpdateTaints)
	if err != nil || !ok || !addsNoExecute(&r) {
		return
	}
	if n, err := h.nodes.Get(r.Node); err == nil {
		h.metrics.evictions.WithLabelValues(conversion.NodeLifecycleNode(n).Zone).Inc()
	}
}

// addsNoExecute says whether pods are driven out from now on, and were not before.
func addsNoExecute(r *nodelifecycle.UpdateTaints) bool {
	return slices.ContainsFunc(r.Add, func(t model.TimedTaint) bool { return t.Effect == model.NoExecute }) &&
		!slices.ContainsFunc(r.Remove, func(t model.Taint) bool { return t.Effect == model.NoExecute })
}
