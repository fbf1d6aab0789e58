package scheduler

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling"
)

// metrics has kube-scheduler's names, in a registry of its own.
type metrics struct {
	registry  *prometheus.Registry
	attempts  *prometheus.CounterVec
	duration  *prometheus.HistogramVec
	algorithm prometheus.Histogram
	tries     prometheus.Histogram
	sli       *prometheus.HistogramVec

	perDecision atomic.Int64 // nanoseconds, of the last step that decided

	mu       sync.Mutex
	depths   queue.Depths
	arrivals map[arrival]uint64
	known    bool // the first lists are complete
	beatAt   time.Time
}

type arrival struct{ pool, event string }

func newMetrics() *metrics {
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: "scheduler_" + name, Help: help, Buckets: buckets}
	}
	m := &metrics{registry: prometheus.NewRegistry(), arrivals: map[arrival]uint64{}, beatAt: time.Now(),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "scheduler_schedule_attempts_total",
			Help: "Number of attempts to schedule pods, by the result."}, []string{"result", "profile"}),
		duration: prometheus.NewHistogramVec(histogram("scheduling_attempt_duration_seconds",
			"Time of an attempt: its share of the step that decided, and the binding.", prometheus.ExponentialBuckets(0.001, 2, 15)), []string{"result", "profile"}),
		algorithm: prometheus.NewHistogram(histogram("scheduling_algorithm_duration_seconds",
			"Time of a decision: a step's time by its decisions.", prometheus.ExponentialBuckets(0.000001, 2, 20))),
		tries: prometheus.NewHistogram(histogram("pod_scheduling_attempts",
			"Number of attempts to successfully schedule a pod.", prometheus.ExponentialBuckets(1, 2, 5))),
		sli: prometheus.NewHistogramVec(histogram("pod_scheduling_sli_duration_seconds",
			"Time from a pod's first entry into the queue to its binding.", prometheus.ExponentialBuckets(0.01, 2, 20)), []string{"attempts"}),
	}
	m.registry.MustRegister(m.attempts, m.duration, m.algorithm, m.tries, m.sli, &queueCollector{m})
	return m
}

// countDropped shows how many events were given up.
func (m *metrics) countDropped(dropped func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "berth_scheduler_events_dropped_total",
		Help: "Number of events that were given up because the API server did not keep up."}, func() float64 { return float64(dropped()) }))
}

// beat notes that the loop is alive.
func (m *metrics) beat() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.beatAt = time.Now()
}

func (m *metrics) synced() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = true
}

// stepped takes in a step: what it decided and how the queue stands.
func (m *metrics) stepped(machine *scheduling.Machine, effects []scheduling.Effect, took time.Duration) {
	decisions := 0
	for _, e := range effects {
		switch e := e.(type) {
		case scheduling.Bind:
			decisions += once(e.Again)
		case scheduling.Reject:
			decisions += once(e.Again)
		}
	}
	if decisions > 0 {
		each := took / time.Duration(decisions)
		m.perDecision.Store(int64(each))
		for range decisions {
			m.algorithm.Observe(each.Seconds())
		}
	}
	for _, e := range effects {
		if r, ok := e.(scheduling.Reject); ok && !r.Again {
			m.attempt(rejection(r.Summary), r.Pod.Spec.SchedulerName, 0)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.beatAt = time.Now()
	m.depths = machine.Depths()
	clear(m.arrivals)
	machine.Arrivals(func(p queue.Pool, c queue.Cause, n uint64) { m.arrivals[arrival{p.String(), c.String()}] += n })
}

// once is 0 for an effect that repeats an older decision.
func once(again bool) int {
	if again {
		return 0
	}
	return 1
}

// rejection is kube-scheduler's word for an attempt without a node.
func rejection(s *decision.Summary) string {
	if s.Outcome == decision.Errored {
		return "error"
	}
	return "unschedulable"
}

func (m *metrics) attempt(result, profile string, more time.Duration) {
	m.attempts.WithLabelValues(result, profile).Inc()
	m.duration.WithLabelValues(result, profile).Observe((time.Duration(m.perDecision.Load()) + more).Seconds())
}

// carriedOut takes in an effect that was carried out.
func (m *metrics) carriedOut(e scheduling.Effect, o scheduling.Outcome, took time.Duration) {
	b, ok := e.(scheduling.Bind)
	if !ok || o.Result != scheduling.Done {
		return
	}
	m.attempt("scheduled", b.Pod.Spec.SchedulerName, took)
	m.tries.Observe(float64(b.Attempt))
	label := "15+"
	if b.Attempt < 15 {
		label = strconv.Itoa(b.Attempt)
	}
	m.sli.WithLabelValues(label).Observe(time.Since(b.First).Seconds())
}
