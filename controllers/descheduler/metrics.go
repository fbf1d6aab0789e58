package descheduler

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/internal/metrics"
)

// Metrics are the metrics of the Kubernetes descheduler and Berth's additions.
type Metrics struct {
	evictions, deprecatedEvictions               *prometheus.CounterVec
	loopDuration, deprecatedLoopDuration         prometheus.Histogram
	strategyDuration, deprecatedStrategyDuration *prometheus.HistogramVec
	holdSupport, deprecatedHoldSupport           prometheus.Gauge
	moves                                        *prometheus.CounterVec
	refusals                                     *prometheus.GaugeVec
}

// NewMetrics registers the metrics unless registerer is nil. It fails if a name is already
// registered.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	buckets := prometheus.ExponentialBuckets(0.01, 2.5, 12)
	const pods = "Number of pods that were evicted, or could not be (result error, or in compatible mode the limit that was reached), by strategy, profile, namespace and node."
	pod, strategy := []string{"result", "strategy", "profile", "namespace", "node"}, []string{"strategy", "profile"}
	const deprecated = "Deprecated upstream: "
	m := &Metrics{
		evictions:                  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "descheduler_pods_evicted_total", Help: pods}, pod),
		deprecatedEvictions:        prometheus.NewCounterVec(prometheus.CounterOpts{Name: "descheduler_pods_evicted", Help: deprecated + "see descheduler_pods_evicted_total."}, pod),
		loopDuration:               prometheus.NewHistogram(prometheus.HistogramOpts{Name: "descheduler_loop_duration_seconds", Help: "Time to decide a run, without the execution of its moves.", Buckets: buckets}),
		deprecatedLoopDuration:     prometheus.NewHistogram(prometheus.HistogramOpts{Name: "descheduler_descheduler_loop_duration_seconds", Help: deprecated + "see descheduler_loop_duration_seconds.", Buckets: buckets}),
		strategyDuration:           prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "descheduler_strategy_duration_seconds", Help: "Time that a strategy took.", Buckets: buckets}, strategy),
		deprecatedStrategyDuration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "descheduler_descheduler_strategy_duration_seconds", Help: deprecated + "see descheduler_strategy_duration_seconds.", Buckets: buckets}, strategy),
		holdSupport:                prometheus.NewGauge(prometheus.GaugeOpts{Name: "berth_descheduler_hold_support", Help: "1 if the target nodes of all moves can be reserved with Holds, else 0."}),
		deprecatedHoldSupport:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "berth_descheduler_places_held", Help: "Deprecated: see berth_descheduler_hold_support."}),
		moves:                      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "berth_descheduler_moves_total", Help: "Number of finished planned moves, by outcome."}, []string{"outcome"}),
		refusals:                   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "berth_descheduler_refused", Help: "Number of candidates that the last plan refused, by reason."}, []string{"reason"}),
	}
	for _, o := range finalOutcomes {
		m.moves.WithLabelValues(o.String())
	}
	return m, metrics.Register(registerer, newBuildInfo(), m.evictions, m.deprecatedEvictions, m.loopDuration, m.deprecatedLoopDuration, m.strategyDuration, m.deprecatedStrategyDuration, m.holdSupport, m.deprecatedHoldSupport, m.moves, m.refusals)
}

var finalOutcomes = []evacuation.Outcome{evacuation.Moved, evacuation.PlacedElsewhere, evacuation.Returned, evacuation.NotReady, evacuation.Unscheduled, evacuation.NotReplaced, evacuation.CleanedUp, evacuation.Abandoned}

// newBuildInfo returns a gauge of value 1 with the build as labels.
func newBuildInfo() prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "descheduler_build_info", Help: "1, with the build as labels; see berth_build_info.",
		ConstLabels: prometheus.Labels{"GoVersion": runtime.Version(), "AppVersion": "berth"}})
	g.Set(1)
	return g
}

func (m *Metrics) observeEviction(result string, req *evictionRequest) {
	for _, v := range []*prometheus.CounterVec{m.evictions, m.deprecatedEvictions} {
		v.WithLabelValues(result, req.strategy, req.profile, req.pod.Namespace, req.pod.NodeName).Inc()
	}
}

func (m *Metrics) observeStrategy(strategy, profile string, duration time.Duration) {
	m.strategyDuration.WithLabelValues(strategy, profile).Observe(duration.Seconds())
	m.deprecatedStrategyDuration.WithLabelValues(strategy, profile).Observe(duration.Seconds())
}

func (m *Metrics) observeRun(r *Report) {
	m.loopDuration.Observe(r.Duration.Seconds())
	m.deprecatedLoopDuration.Observe(r.Duration.Seconds())
	if r.Mode != Planned {
		return
	}
	supported := 0.0
	if r.HoldSupport.Supported && len(r.HoldSupport.UnsupportedSchedulers) == 0 {
		supported = 1
	}
	m.holdSupport.Set(supported)
	m.deprecatedHoldSupport.Set(supported)
	m.refusals.Reset()
	for reason, n := range r.RefusalCounts {
		m.refusals.WithLabelValues(reason).Set(float64(n))
	}
}
