package nodelifecycle

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodehealth"
	"github.com/berthproject/berth/internal/intake"
	"github.com/berthproject/berth/internal/metrics"
)

// counts are kube-controller-manager's metrics of the same loop. It implements prometheus.Collector for
// those that show how the zones stand.
type counts struct {
	evictions *prometheus.CounterVec
	one, all  prometheus.Histogram

	mu    sync.Mutex
	zones []nodehealth.Zone
}

var (
	sizeDesc = prometheus.NewDesc("node_collector_zone_size", "Number of nodes of a zone that count for its state.", []string{"zone"}, nil)
	lostDesc = prometheus.NewDesc("node_collector_unhealthy_nodes_in_zone", "Number of nodes of a zone that are not ready.", []string{"zone"}, nil)
	fitDesc  = prometheus.NewDesc("node_collector_zone_health", "Percentage of the nodes of a zone that are ready.", []string{"zone"}, nil)
)

func newCounts(into prometheus.Registerer) (*counts, error) {
	c := &counts{
		evictions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "node_collector_evictions_total",
			Help: "Number of nodes that were lost and got the taint that drives pods out."}, []string{"zone"}),
		one: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "node_collector_update_node_health_duration_seconds",
			Help: "Time to write the conditions or taints of a node.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8)}),
		all: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "node_collector_update_all_nodes_health_duration_seconds",
			Help: "Time of a step in which all nodes were due to be looked at; what is to be written is written after it.", Buckets: prometheus.ExponentialBuckets(0.01, 4, 8)}),
	}
	return c, metrics.Register(into, c.evictions, c.one, c.all, c)
}

// Describe names the metrics of zones.
func (c *counts) Describe(ch chan<- *prometheus.Desc) {
	ch <- sizeDesc
	ch <- lostDesc
	ch <- fitDesc
}

// Collect shows how the zones stood when the nodes were looked at last. A zone without nodes is full of health.
func (c *counts) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.zones {
		z := &c.zones[i]
		show := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, z.Name)
		}
		show(sizeDesc, float64(z.Nodes))
		show(lostDesc, float64(z.Nodes-z.Ready))
		health := 100.0
		if z.Nodes > 0 {
			health = 100 * float64(z.Ready) / float64(z.Nodes)
		}
		show(fitDesc, health)
	}
}

// stepped notes how the zones stand. The machine was asked for a step at due.
func (c *counts) stepped(zones []nodehealth.Zone, due, began time.Time) {
	if !due.IsZero() && !due.After(began) {
		c.all.Observe(time.Since(began).Seconds())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.zones = zones
	for i := range zones {
		c.evictions.WithLabelValues(zones[i].Name) // there from the start
	}
}

// wrote notes that an effect was carried out.
func (h *health) wrote(order nodehealth.Effect, began time.Time, err error) {
	h.counts.one.Observe(time.Since(began).Seconds())
	r, ok := order.(nodehealth.Retaint)
	if err != nil || !ok || !expels(&r) {
		return
	}
	if n, err := h.nodes.Get(r.Node); err == nil {
		h.counts.evictions.WithLabelValues(intake.HealthNode(n).Zone).Inc()
	}
}

// expels says whether pods are driven out from now on, and were not before.
func expels(r *nodehealth.Retaint) bool {
	return slices.ContainsFunc(r.Add, func(t model.TimedTaint) bool { return t.Effect == model.NoExecute }) &&
		!slices.ContainsFunc(r.Remove, func(t model.Taint) bool { return t.Effect == model.NoExecute })
}
