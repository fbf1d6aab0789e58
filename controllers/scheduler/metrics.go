package scheduler

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/queue"
	count "github.com/berthproject/berth/internal/metrics"
)

// metrics has kube-scheduler's names, in a separate registry. Histograms have
// its buckets, and finer ones below its smallest bucket where Berth is faster.
type metrics struct {
	clock       clock.PassiveClock
	registry    *prometheus.Registry
	attempts    *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	algorithm   prometheus.Histogram
	podAttempts prometheus.Histogram
	sli         *prometheus.HistogramVec
	preemptions prometheus.Counter
	victims     prometheus.Histogram

	pendingResizes    prometheus.Gauge
	resizePreemptions prometheus.Counter
	resizeVictims     prometheus.Histogram

	extensionPoints *prometheus.HistogramVec
	events          *prometheus.HistogramVec
	extenders       *prometheus.CounterVec
	debitsRefused   prometheus.Counter
	missedWakeups   prometheus.Counter
	displacements   *count.Displacements

	perDecision atomic.Int64 // nanoseconds, of the last step with decisions
	binding     atomic.Int64 // bindings in flight
	scoring     func() int64 // prioritize calls in flight; set before use

	mu          sync.Mutex
	depths      queue.Depths
	wakeups     queue.Counts
	arrivals    map[arrival]uint64
	cache       map[string]int // by type
	evaluations *evaluations
	cacheSizes
	cacheSynced   bool // the first lists are complete
	lastHeartbeat time.Time
}

type arrival struct{ pool, event string }

// finerBuckets prepends n buckets, each half of the next.
func finerBuckets(n int, bounds []float64) []float64 {
	return append(prometheus.ExponentialBuckets(bounds[0]/float64(int(1)<<n), 2, n), bounds...)
}

func newMetrics(profiles []framework.Config, c clock.PassiveClock) *metrics {
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: "scheduler_" + name, Help: help, Buckets: buckets}
	}
	counter := func(name, help string) prometheus.CounterOpts { return prometheus.CounterOpts{Name: name, Help: help} }
	exponential := prometheus.ExponentialBuckets
	m := &metrics{clock: c, registry: count.NewRegistry(), displacements: count.NewDisplacements(), arrivals: map[arrival]uint64{}, cache: map[string]int{}, lastHeartbeat: c.Now(), scoring: func() int64 { return 0 },
		evaluations: newEvaluations(profiles),
		attempts: prometheus.NewCounterVec(counter("scheduler_schedule_attempts_total",
			"Number of attempts to schedule pods, by the result."), []string{"result", "profile"}),
		duration: prometheus.NewHistogramVec(histogram("scheduling_attempt_duration_seconds",
			"Duration of an attempt: its share of the deciding step, and the binding.", exponential(0.001, 2, 15)), []string{"result", "profile"}),
		algorithm: prometheus.NewHistogram(histogram("scheduling_algorithm_duration_seconds",
			"Duration of a decision: the duration of a step divided by its decisions.", finerBuckets(10, exponential(0.001, 2, 15)))),
		podAttempts: prometheus.NewHistogram(histogram("pod_scheduling_attempts",
			"Number of attempts to successfully schedule a pod.", exponential(1, 2, 5))),
		sli: prometheus.NewHistogramVec(histogram("pod_scheduling_sli_duration_seconds",
			"Time from a pod's first entry into the queue to its binding.", exponential(0.01, 2, 20)), []string{"attempts"}),
		preemptions: prometheus.NewCounter(counter("scheduler_preemption_attempts_total",
			"Number of preemption attempts.")),
		victims: prometheus.NewHistogram(histogram("preemption_victims",
			"Number of victims of an executed preemption.", exponential(1, 2, 7))),
		pendingResizes: prometheus.NewGauge(prometheus.GaugeOpts{Name: "scheduler_pending_resize_pods", ConstLabels: prometheus.Labels{"queue": "unschedulable"},
			Help: "Number of pods with a resize that a node has deferred. 0 unless the scheduler preempts for resizes."}),
		resizePreemptions: prometheus.NewCounter(counter("scheduler_resize_preemption_attempts_total",
			"Number of preemption attempts for deferred resizes.")),
		resizeVictims: prometheus.NewHistogram(histogram("resize_preemption_victims",
			"Number of victims of an executed preemption for a deferred resize.", exponential(1, 2, 7))),
		extensionPoints: prometheus.NewHistogramVec(histogram("framework_extension_point_duration_seconds",
			"Duration of an extension point. Only Bind and PreBind, which are API requests; the others are parts of one computation, see scheduling_algorithm_duration_seconds.",
			exponential(0.0001, 2, 12)), []string{"extension_point", "status", "profile"}),
		events: prometheus.NewHistogramVec(histogram("event_handling_duration_seconds",
			"Duration of handling an event: the duration of a step without effects divided by its events.", finerBuckets(7, exponential(0.0001, 2, 12))), []string{"event"}),
		extenders: prometheus.NewCounterVec(counter("berth_scheduler_extender_failures_total",
			"Number of extender calls that failed without failing the pod."), []string{"extender", "verb"}),
		debitsRefused: prometheus.NewCounter(counter("berth_scheduler_debits_refused_total",
			"Number of preemptions that a disruption budget refused at execution.")),
		missedWakeups: prometheus.NewCounter(counter("berth_scheduler_missed_wakeups_total",
			"Number of pending pods that the audit found to fit although no event had moved them.")),
	}
	m.registry.MustRegister(m.attempts, m.duration, m.algorithm, m.podAttempts, m.sli, m.preemptions, m.victims, m.pendingResizes, m.resizePreemptions, m.resizeVictims, m.extensionPoints, m.events,
		m.extenders, m.debitsRefused, m.missedWakeups, m.displacements, &collector{m}, &cacheCollector{m})
	return m
}

// registerDropped exposes the number of dropped events.
func (m *metrics) registerDropped(dropped func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "berth_scheduler_events_dropped_total",
		Help: "Number of events that were dropped because the API server was too slow."}, func() float64 { return float64(dropped()) }))
}

func (m *metrics) extenderFailed(extender, verb string) {
	m.extenders.WithLabelValues(extender, verb).Inc()
}

// recordHeartbeat records that the loop is alive.
func (m *metrics) recordHeartbeat() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastHeartbeat = m.clock.Now()
}

func (m *metrics) setSynced() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cacheSynced = true
}
