package workload

import (
	"slices"
	"testing"
	"time"
)

// every is a schedule with a fixed period.
type every time.Duration

func (e every) Next(t time.Time) time.Time {
	return t.Truncate(time.Duration(e)).Add(time.Duration(e))
}

// never is a schedule without times.
type never struct{}

func (never) Next(time.Time) time.Time { return time.Time{} }

func TestCronJobPlan(t *testing.T) {
	at := noon.Add
	for name, tc := range map[string]struct {
		job  CronJob
		now  time.Time
		want CronPlan
	}{
		"not due yet":                            {CronJob{Created: noon}, at(59 * time.Second), CronPlan{Next: at(time.Minute)}},
		"due":                                    {CronJob{Created: noon}, at(time.Minute), CronPlan{Create: true, Due: at(time.Minute), Missed: 1, Next: at(2 * time.Minute)}},
		"already created":                        {CronJob{Created: noon, LastScheduled: at(time.Minute)}, at(61 * time.Second), CronPlan{Next: at(2 * time.Minute)}},
		"of three missed times only the last":    {CronJob{Created: noon}, at(200 * time.Second), CronPlan{Create: true, Due: at(3 * time.Minute), Missed: 3, Next: at(4 * time.Minute)}},
		"of too many missed times only the last": {CronJob{Created: noon.AddDate(-30, 0, 0)}, noon, CronPlan{Create: true, Due: noon, Missed: TooManyMissed + 1, Next: at(time.Minute)}},
		"suspended":                              {CronJob{Created: noon, Suspend: true}, at(time.Hour), CronPlan{}},
		"within the deadline":                    {CronJob{Created: noon, HasDeadline: true, Deadline: 10 * time.Second}, at(70 * time.Second), CronPlan{Create: true, Due: at(time.Minute), Missed: 1, Next: at(2 * time.Minute)}},
		"past the deadline":                      {CronJob{Created: noon, HasDeadline: true, Deadline: 10 * time.Second}, at(71 * time.Second), CronPlan{DeadlineMissed: true, Due: at(time.Minute), Next: at(2 * time.Minute)}},
		"Forbid while a job runs":                {CronJob{Created: noon, Concurrency: Forbid, Active: 1}, at(time.Minute), CronPlan{StillActive: true, Due: at(time.Minute), Missed: 1, Next: at(2 * time.Minute)}},
		"Replace while a job runs": {CronJob{Created: noon, Concurrency: Replace, Active: 1}, at(time.Minute),
			CronPlan{Create: true, Replace: true, Due: at(time.Minute), Missed: 1, Next: at(2 * time.Minute)}},
		"Allow while a job runs": {CronJob{Created: noon, Active: 1}, at(time.Minute), CronPlan{Create: true, Due: at(time.Minute), Missed: 1, Next: at(2 * time.Minute)}},
	} {
		tc.job.Schedule = every(time.Minute)
		if got := tc.job.Plan(tc.now); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
	if got := (&CronJob{Schedule: never{}, Created: noon}).Plan(at(time.Hour)); got != (CronPlan{}) {
		t.Errorf("schedule without times: got %+v, want an empty plan", got)
	}
}

func TestExcessJobs(t *testing.T) {
	one, two := int32(1), int32(2)
	jobs := []FinishedJob{
		{Name: "c", Started: noon.Add(3)}, {Name: "a", Started: noon.Add(1)}, {Name: "f1", Failed: true, Started: noon.Add(4)},
		{Name: "b", Started: noon.Add(2)}, {Name: "f0", Failed: true, Started: noon},
	}
	if got := ExcessJobs(jobs, &two, &one); !slices.Equal(got, []int{1, 4}) {
		t.Errorf("got %v, want [1 4]: a and f0", got)
	}
	if got := ExcessJobs(jobs, nil, nil); got != nil {
		t.Errorf("without limits: got %v, want none", got)
	}
}
