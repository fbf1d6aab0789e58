package descheduler

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/rebalance/carry"
	"github.com/berthproject/berth/internal/metrics"
)

// Counts are the Kubernetes descheduler's metrics, and beside them what it has nothing like.
type Counts struct {
	evictions, old     *prometheus.CounterVec
	round, oldRound    prometheus.Histogram
	strategy, oldStrat *prometheus.HistogramVec
	held               prometheus.Gauge
	moves              *prometheus.CounterVec
	refused            *prometheus.GaugeVec
}

// NewCounts has them shown; into may be nil: then they only count. An error means that another metric has the name of one.
func NewCounts(into prometheus.Registerer) (*Counts, error) {
	buckets := prometheus.ExponentialBuckets(0.01, 2.5, 12)
	const pods = "Number of pods that were evicted, or could not be (result error, or in compatible mode the limit that was reached), by strategy, profile, namespace and node."
	pod, strategy := []string{"result", "strategy", "profile", "namespace", "node"}, []string{"strategy", "profile"}
	const old = "Deprecated upstream: "
	c := &Counts{
		evictions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "descheduler_pods_evicted_total", Help: pods}, pod),
		old:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "descheduler_pods_evicted", Help: old + "see descheduler_pods_evicted_total."}, pod),
		round:     prometheus.NewHistogram(prometheus.HistogramOpts{Name: "descheduler_loop_duration_seconds", Help: "Time that a round took, without what it then waited for.", Buckets: buckets}),
		oldRound:  prometheus.NewHistogram(prometheus.HistogramOpts{Name: "descheduler_descheduler_loop_duration_seconds", Help: old + "see descheduler_loop_duration_seconds.", Buckets: buckets}),
		strategy:  prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "descheduler_strategy_duration_seconds", Help: "Time that a strategy took.", Buckets: buckets}, strategy),
		oldStrat:  prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "descheduler_descheduler_strategy_duration_seconds", Help: old + "see descheduler_strategy_duration_seconds.", Buckets: buckets}, strategy),
		held:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "berth_descheduler_places_held", Help: "1 if the node that a pod goes to is held until its replacement is there, 0 if that cannot be for all pods."}),
		moves:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "berth_descheduler_moves_total", Help: "Number of planned moves that are over, by what became of them."}, []string{"outcome"}),
		refused:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "berth_descheduler_refused", Help: "Number of candidates that the last plan let stay, by why."}, []string{"why"}),
	}
	for _, o := range outcomes {
		c.moves.WithLabelValues(o.String())
	}
	return c, metrics.Register(into, build(), c.evictions, c.old, c.round, c.oldRound, c.strategy, c.oldStrat, c.held, c.moves, c.refused)
}

// outcomes are those that moves have in the end.
var outcomes = []carry.Outcome{carry.Moved, carry.Elsewhere, carry.Returned, carry.Unready, carry.Unplaced, carry.Unreplaced, carry.CleanedUp, carry.GivenUp}

// build is 1, with the build as labels.
func build() prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "descheduler_build_info", Help: "1, with the build as labels; see berth_build_info.",
		ConstLabels: prometheus.Labels{"GoVersion": runtime.Version(), "AppVersion": "berth"}})
	g.Set(1)
	return g
}

func (c *Counts) evicted(result string, l *leave) {
	for _, v := range []*prometheus.CounterVec{c.evictions, c.old} {
		v.WithLabelValues(result, l.strategy, l.profile, l.pod.Namespace, l.pod.NodeName).Inc()
	}
}

func (c *Counts) ran(strategy, profile string, took time.Duration) {
	c.strategy.WithLabelValues(strategy, profile).Observe(took.Seconds())
	c.oldStrat.WithLabelValues(strategy, profile).Observe(took.Seconds())
}

func (c *Counts) rounded(r *Report) {
	c.round.Observe(r.Took.Seconds())
	c.oldRound.Observe(r.Took.Seconds())
	if r.Mode != Planned {
		return
	}
	held := 0.0
	if r.Places.Held && len(r.Places.NotFor) == 0 {
		held = 1
	}
	c.held.Set(held)
	c.refused.Reset()
	for why, n := range r.Counts {
		c.refused.WithLabelValues(why).Set(float64(n))
	}
}
