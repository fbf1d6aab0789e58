package job

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/testkit/reference"
)

// TestMetricsReference checks the section of this package in docs/reference/metrics.md.
func TestMetricsReference(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	reference.CheckSection(t, "metrics.md", reference.Metrics(t, registry, m.syncs, m.duration, m.finished, m.podsFinished, m.podsCreated))
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	job := func(succeeded, failed int32, conditions ...batchv1.JobCondition) *batchv1.Job {
		return &batchv1.Job{Status: batchv1.JobStatus{Succeeded: succeeded, Failed: failed, Conditions: conditions}}
	}
	done := batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, Reason: "CompletionsReached"}
	m.observeStatus(job(0, 0), job(2, 1))
	m.observeStatus(job(2, 1), job(3, 1, done))
	m.observeStatus(job(3, 1, done), job(3, 1, done))
	m.observeSync(job(0, 0), actionCreated, time.Second, nil)
	m.observeSync(job(0, 0), actionTracking, time.Second, errors.New("failed"))
	m.observeCreations(job(0, 0), &workload.JobStatus{}, 2, 0)
	m.observeCreations(job(0, 0), &workload.JobStatus{Failed: 1}, 1, 1)
	want := `
# HELP job_controller_job_pods_creation_total Number of pods that were created for Jobs.
# TYPE job_controller_job_pods_creation_total counter
job_controller_job_pods_creation_total{reason="new",status="failed"} 0
job_controller_job_pods_creation_total{reason="new",status="succeeded"} 2
job_controller_job_pods_creation_total{reason="recreate_terminating_or_failed",status="failed"} 1
job_controller_job_pods_creation_total{reason="recreate_terminating_or_failed",status="succeeded"} 1
# HELP job_controller_job_pods_finished_total Number of finished pods that the status of a Job counts.
# TYPE job_controller_job_pods_finished_total counter
job_controller_job_pods_finished_total{completion_mode="NonIndexed",result="failed"} 1
job_controller_job_pods_finished_total{completion_mode="NonIndexed",result="succeeded"} 3
# HELP job_controller_job_syncs_total Number of reconciliations of Jobs.
# TYPE job_controller_job_syncs_total counter
job_controller_job_syncs_total{action="pods_created",completion_mode="NonIndexed",result="success"} 1
job_controller_job_syncs_total{action="tracking",completion_mode="NonIndexed",result="error"} 1
# HELP job_controller_jobs_finished_total Number of finished Jobs.
# TYPE job_controller_jobs_finished_total counter
job_controller_jobs_finished_total{completion_mode="NonIndexed",reason="CompletionsReached",result="succeeded"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "job_controller_job_syncs_total", "job_controller_jobs_finished_total",
		"job_controller_job_pods_finished_total", "job_controller_job_pods_creation_total"); err != nil {
		t.Error(err)
	}
}
