package cronjob

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"

	"github.com/berthproject/berth/controllers/workload/workloadtest"
	"github.com/berthproject/berth/engine/workload"
)

var controllers = []workloadtest.Controller{func(ctx context.Context, s *workloadtest.Env, factory informers.SharedInformerFactory) error {
	return Run(ctx, s.Process(factory), nil)
}}

func createCronJob(s *workloadtest.Env, edits ...func(*batchv1.CronJobSpec)) {
	s.Helper()
	cj := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "tick", Namespace: workloadtest.Namespace}, Spec: batchv1.CronJobSpec{
		Schedule: "* * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: workloadtest.Template("tick")}},
	}}
	for _, e := range edits {
		e(&cj.Spec)
	}
	if _, err := s.BatchV1().CronJobs(workloadtest.Namespace).Create(s.Context(), cj, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

func status(s *workloadtest.Env) *batchv1.CronJobStatus {
	s.Helper()
	cj, err := s.BatchV1().CronJobs(workloadtest.Namespace).Get(s.Context(), "tick", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return &cj.Status
}

func jobs(s *workloadtest.Env) []batchv1.Job {
	s.Helper()
	list, err := s.BatchV1().Jobs(workloadtest.Namespace).List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return list.Items
}

// complete finishes all running Jobs.
func complete(s *workloadtest.Env) {
	s.Helper()
	for _, j := range jobs(s) {
		if condition, _ := finishedCondition(&j); condition == "" {
			now := metav1.Now()
			j.Status.StartTime, j.Status.CompletionTime = &now, &now
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now}}
			if _, err := s.BatchV1().Jobs(workloadtest.Namespace).UpdateStatus(s.Context(), &j, metav1.UpdateOptions{}); err != nil {
				s.Fatal(err)
			}
		}
	}
}

func TestJobEveryMinute(t *testing.T) {
	workloadtest.Run(t, controllers, func(s *workloadtest.Env) {
		two, zone := int32(2), "Asia/Kolkata"
		createCronJob(s, func(c *batchv1.CronJobSpec) { c.SuccessfulJobsHistoryLimit, c.TimeZone = &two, &zone })
		for range 5 {
			s.Settle(time.Minute + time.Second)
			complete(s)
		}
		s.Settle(5 * time.Second)
		if list := jobs(s); len(list) != 2 {
			t.Errorf("%d jobs after cleanup, want 2", len(list))
		}
		st := status(s)
		if created := s.EventCount("SuccessfulCreate"); created != 5 || s.EventCount("SawCompletedJob") == 0 || len(st.Active) != 0 || st.LastSuccessfulTime == nil {
			t.Errorf("%d jobs created, %d events SawCompletedJob, status %+v; want 5 jobs, events, no active job and a successful time", created, s.EventCount("SawCompletedJob"), st)
		}
		j := jobs(s)[1]
		due := st.LastScheduleTime.Time
		if want := fmt.Sprint("tick-", due.Unix()/60); j.Name != want || j.Annotations[batchv1.CronJobScheduledTimestampAnnotation] != due.In(time.FixedZone("", 5*3600+1800)).Format(time.RFC3339) {
			t.Errorf("job %s %v, due %v, want %s", j.Name, j.Annotations, due, want)
		}
	})
}

func TestConcurrencyPolicy(t *testing.T) {
	for policy, want := range map[batchv1.ConcurrencyPolicy]struct{ jobs, created, events int }{
		batchv1.AllowConcurrent: {3, 3, 0}, batchv1.ForbidConcurrent: {1, 1, 2}, batchv1.ReplaceConcurrent: {1, 1, 0},
	} {
		workloadtest.Run(t, controllers, func(s *workloadtest.Env) {
			createCronJob(s, func(c *batchv1.CronJobSpec) { c.ConcurrencyPolicy = policy })
			s.Settle(3*time.Minute + time.Second)
			if n := len(jobs(s)); n != want.jobs || s.EventCount("SuccessfulCreate") < want.created || s.EventCount("JobAlreadyActive") != want.events || len(status(s).Active) != want.jobs {
				t.Errorf("%s: %d jobs, %d created, %d events, status %+v, want %+v", policy, n, s.EventCount("SuccessfulCreate"), s.EventCount("JobAlreadyActive"), status(s), want)
			}
		})
	}
}

func TestInvalidScheduleEvent(t *testing.T) {
	for reason, edit := range map[string]func(*batchv1.CronJobSpec){
		"UnparseableSchedule": func(c *batchv1.CronJobSpec) { c.Schedule = "61 * * * *" },
		"UnknownTimeZone":     func(c *batchv1.CronJobSpec) { c.TimeZone = new("Mars/Olympus") },
	} {
		workloadtest.Run(t, controllers, func(s *workloadtest.Env) {
			createCronJob(s, edit)
			s.Settle(5 * time.Minute)
			if len(jobs(s)) != 0 || s.EventCount(reason) != 1 {
				t.Errorf("%s: %d events, want 1; %d jobs, want 0", reason, s.EventCount(reason), len(jobs(s)))
			}
		})
	}
}

// TestScheduledTimes checks when Jobs are due: at 2:30 in Berlin, in winter, in summer, and when that time does not
// exist, and every 90 minutes.
func TestScheduledTimes(t *testing.T) {
	berlin, daily := "Europe/Berlin", &batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: "30 2 * * *"}}
	daily.Spec.TimeZone = &berlin
	s, _, err := scheduleOf(daily)
	if err != nil {
		t.Fatal(err)
	}
	parseTime := func(text string) time.Time {
		out, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for since, want := range map[string]string{
		"2026-01-10T00:00:00Z": "2026-01-10T02:30:00+01:00",
		"2026-07-10T00:00:00Z": "2026-07-10T02:30:00+02:00",
	} {
		if got := workload.LastDue(s, parseTime(since), parseTime(since).Add(20*time.Hour)); !got.Equal(parseTime(want)) {
			t.Errorf("after %s the next Job is due at %v, want %s", since, got, want)
		}
	}
	// 2026-03-29: the clock jumps from 2:00 to 3:00.
	if got := workload.LastDue(s, parseTime("2026-03-28T12:00:00Z"), parseTime("2026-03-30T12:00:00Z")); !got.Equal(parseTime("2026-03-30T02:30:00+02:00")) {
		t.Errorf("after the clock jump the next Job is due at %v, want 2026-03-30 02:30", got)
	}
	every := &batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: "@every 90m"}}
	every.CreationTimestamp.Time = parseTime("2026-01-01T00:10:00Z")
	if s, _, err = scheduleOf(every); err != nil {
		t.Fatal(err)
	}
	if got := workload.LastDue(s, every.CreationTimestamp.Time, parseTime("2026-01-01T05:00:00Z")); !got.Equal(parseTime("2026-01-01T04:40:00Z")) {
		t.Errorf("every 90 minutes from 0:10: due at %v, want 4:40", got)
	}
}
