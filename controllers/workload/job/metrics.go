package job

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/metrics"
)

// Values of the label action: what a reconciliation changed.
const (
	actionTracking = "tracking" // only the status
	actionCreated  = "pods_created"
	actionDeleted  = "pods_deleted"
)

// jobMetrics are the metrics of kube-controller-manager's Job controller.
type jobMetrics struct {
	syncs, finished, podsFinished, podsCreated *prometheus.CounterVec
	duration                                   *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer) (*jobMetrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "job_controller_" + name, Help: help}, labels)
	}
	m := &jobMetrics{
		syncs: counter("job_syncs_total", "Number of reconciliations of Jobs.", "completion_mode", "result", "action"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "job_controller_job_sync_duration_seconds",
			Help: "Duration of a reconciliation of a Job.", Buckets: prometheus.ExponentialBuckets(0.004, 2, 15)}, []string{"completion_mode", "result", "action"}),
		finished:     counter("jobs_finished_total", "Number of finished Jobs.", "completion_mode", "result", "reason"),
		podsFinished: counter("job_pods_finished_total", "Number of finished pods that the status of a Job counts.", "completion_mode", "result"),
		podsCreated:  counter("job_pods_creation_total", "Number of pods that were created for Jobs.", "reason", "status"),
	}
	return m, metrics.Register(registerer, m.syncs, m.duration, m.finished, m.podsFinished, m.podsCreated)
}

// observeSync counts a reconciliation.
func (m *jobMetrics) observeSync(job *batchv1.Job, action string, duration time.Duration, err error) {
	result := "success"
	if err != nil {
		result = "error"
	}
	m.syncs.WithLabelValues(completionMode(job), result, action).Inc()
	m.duration.WithLabelValues(completionMode(job), result, action).Observe(duration.Seconds())
}

// observeStatus counts the pods that a status update added, and the Job if it finished.
func (m *jobMetrics) observeStatus(old, cur *batchv1.Job) {
	mode := completionMode(cur)
	m.podsFinished.WithLabelValues(mode, "succeeded").Add(float64(max(0, cur.Status.Succeeded-old.Status.Succeeded)))
	m.podsFinished.WithLabelValues(mode, "failed").Add(float64(max(0, cur.Status.Failed-old.Status.Failed)))
	if before, _ := finishedAs(old); before != "" {
		return
	}
	if result, reason := finishedAs(cur); result != "" {
		m.finished.WithLabelValues(mode, result, reason).Inc()
	}
}

// observeCreations counts created pods and failed creations.
func (m *jobMetrics) observeCreations(job *batchv1.Job, status *workload.JobStatus, succeeded, failed int) {
	reason := "new"
	policy := job.Spec.PodReplacementPolicy
	switch {
	case policy != nil && *policy == batchv1.Failed && status.Failed > 0:
		reason = "recreate_failed"
	case (policy == nil || *policy != batchv1.Failed) && status.Failed+status.Terminating > 0:
		reason = "recreate_terminating_or_failed"
	}
	m.podsCreated.WithLabelValues(reason, "succeeded").Add(float64(succeeded))
	m.podsCreated.WithLabelValues(reason, "failed").Add(float64(failed))
}

// finishedAs returns the result of a finished Job and its reason; the result is empty for others.
func finishedAs(job *batchv1.Job) (result, reason string) {
	for i := range job.Status.Conditions {
		switch c := &job.Status.Conditions[i]; {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			return "succeeded", c.Reason
		case c.Type == batchv1.JobFailed:
			return "failed", c.Reason
		}
	}
	return "", ""
}

func completionMode(job *batchv1.Job) string {
	if m := job.Spec.CompletionMode; m != nil {
		return string(*m)
	}
	return string(batchv1.NonIndexedCompletion)
}
