package scheduler

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// TestBindWithLostResponseIsCounted checks that a pod is counted and reported once if the request that bound it
// returned an error.
func TestBindWithLostResponseIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := cluster("2")
		binds := client.ReactionChain[0]
		client.PrependReactor("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
			if a.GetSubresource() != "binding" {
				return false, nil, nil
			}
			if _, _, err := binds.React(a); err != nil {
				return true, nil, err
			}
			return true, nil, apierrors.NewTimeoutError("the response is lost", 1)
		})
		create(t, client, "web", "1")
		s, stop := start(t, client, client, nil)
		time.Sleep(time.Minute)
		page := scrape(s, "good").Body.String()
		got := values(page)
		const profile = `profile="default-scheduler"`
		for _, name := range []string{
			`scheduler_schedule_attempts_total{` + profile + `,result="scheduled"}`,
			`scheduler_scheduling_attempt_duration_seconds_count{` + profile + `,result="scheduled"}`,
			`scheduler_pod_scheduling_attempts_count`,
			`scheduler_pod_scheduling_sli_duration_seconds_count{attempts="1"}`,
			`scheduler_framework_extension_point_duration_seconds_count{extension_point="Bind",` + profile + `,status="Error"}`,
		} {
			if got[name] != "1" {
				t.Errorf("%s is %q, want 1", name, got[name])
			}
		}
		events, err := client.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(events.Items) != 1 || events.Items[0].Reason != "Scheduled" {
			t.Errorf("events %+v, error %v, want one Scheduled event", events, err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestFailedAttemptsAreCountedOnce checks that a conflict counts as an attempt without a report, and that the report
// of a failed nomination does not count as one.
func TestFailedAttemptsAreCountedOnce(t *testing.T) {
	m := newMetrics(nil, clock.RealClock{})
	pod := &model.Pod{Namespace: "default", Name: "web", UID: "web", Spec: &model.PodSpec{SchedulerName: "default-scheduler"}}
	conflict := scheduling.Outcome{Result: scheduling.Conflict}
	m.onExecuted(scheduling.Bind{Pod: pod}, conflict, time.Second)
	m.onExecuted(scheduling.Bind{Pod: pod, Retry: true}, conflict, time.Second) // the first request may still succeed
	m.onExecuted(scheduling.BindVolumes{Pod: pod}, conflict, time.Second)
	m.onEmitted(scheduling.ReportUnschedulable{Pod: pod, Attempt: 3, Summary: &decision.Summary{Outcome: decision.Errored}})
	m.onEmitted(scheduling.ReportUnschedulable{Pod: pod, Summary: &decision.Summary{Outcome: decision.Errored}})
	if got := testutil.ToFloat64(m.attempts.WithLabelValues("error", "default-scheduler")); got != 3 {
		t.Errorf("%v attempts, want 3", got)
	}
}
