package agent

import (
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthproject/berth/engine/placement"
)

// Metrics are the Prometheus metrics of an agent. Those that the kubelet also has use its names.
type Metrics struct {
	runningPods       prometheus.Gauge
	runningContainers *prometheus.GaugeVec
	startedContainers prometheus.Counter
	rejections        *prometheus.CounterVec
	preemptions       *prometheus.CounterVec
	restarts          prometheus.Counter
	statusWrites      *prometheus.CounterVec
}

// NewMetrics returns metrics with all values 0.
func NewMetrics() *Metrics {
	m := &Metrics{
		runningPods: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kubelet_running_pods", Help: "Number of admitted pods that have not terminated"}),
		runningContainers: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kubelet_running_containers", Help: "Number of containers currently running"}, []string{"container_state"}),
		startedContainers: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kubelet_started_containers_total", Help: "Cumulative number of containers started"}),
		rejections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubelet_admission_rejections_total", Help: "Cumulative number pod admission rejections by the Kubelet"}, []string{"reason"}),
		preemptions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubelet_preemptions", Help: "Cumulative number of pod preemptions by preemption resource"}, []string{"preemption_signal"}),
		restarts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_agent_container_restarts_total", Help: "Cumulative number of container restarts"}),
		statusWrites: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_agent_status_writes_total", Help: "Cumulative number of pod status writes and deletions, by success"}, []string{"done"}),
	}
	m.runningContainers.WithLabelValues("running")
	for _, r := range rejectionReasons {
		m.rejections.WithLabelValues(r)
	}
	for _, done := range []bool{true, false} {
		m.statusWrites.WithLabelValues(strconv.FormatBool(done))
	}
	return m
}

// rejectionReasons are the values of the label reason. Any other reason is OutOf with the name of another resource,
// and counts as OutOfExtended.
var rejectionReasons = []string{"Evicted", "SysctlForbidden", "OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods", "OutOfExtended",
	"NodeAffinity", "NodeName", "NodePorts", "TaintToleration", "PodOSSelectorNodeLabelDoesNotMatch", "PodOSNotSupported",
	"SupplementalGroupsPolicyNotSupported", "NodeShutdown", "OutOfDisk"}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(ch)
	}
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.runningPods, m.runningContainers, m.startedContainers, m.rejections, m.preemptions, m.restarts, m.statusWrites}
}

// countRejection counts a pod that failed admission.
func (m *Metrics) countRejection(reason string) {
	if !slices.Contains(rejectionReasons, reason) {
		reason = "OutOfExtended"
	}
	m.rejections.WithLabelValues(reason).Inc()
}

// countPreemption counts preempted pods by the first resource that the critical pod lacked.
func (m *Metrics) countPreemption(denials []placement.AdmissionResult, pods int) {
	m.preemptions.WithLabelValues(denials[0].Resource).Add(float64(pods))
}

// countStart counts the start of a container. attempt is greater than 0 for a restart.
func (m *Metrics) countStart(attempt int32) {
	m.startedContainers.Inc()
	if attempt > 0 {
		m.restarts.Inc()
	}
}
